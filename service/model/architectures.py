"""The code that runs a model, by its profile's `architecture`: a backbone and its head.

A family of an architecture that is here needs no line here.
"""

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from safetensors.torch import load_file
from transformers.modeling_utils import PreTrainedModel

import service.model.heads
from cenote_kernels import PoolingMode
from service.checkpoint.clap_features import read_clap_features
from service.checkpoint.colbert_files import colbert_form
from service.checkpoint.colbert_modules import PROJECTION, read_token_modules, stanford_projection
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.image_processor import DINOV3, processor_class, read_scaling, read_square
from service.checkpoint.late.page_modules import page_projection
from service.checkpoint.late.token_projection import CUSTOM, LINEAR, read_form
from service.checkpoint.pair_template import read_pair_template
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.score_modules import read_score_modules
from service.checkpoint.sentence_files import cuts_unit_vectors
from service.checkpoint.sentence_modules import DenseConfig
from service.checkpoint.sentence_settings import CLASSIFICATION, FEATURES
from service.checkpoint.sparse_files import WEIGHT, read_splade
from service.checkpoint.weight_files import SINGLE
from service.errors import ModelError
from service.media import gemma_media, omni_media
from service.model.backbone import Backbone
from service.model.heads.dense_modules import DenseModules
from service.model.heads.file_head import FileHead, Projection
from service.model.heads.pooled import PooledHead
from service.model.heads.score import ClassifierModules, answer_modules
from service.model.heads.sparse import SparseHead
from service.model.heads.tokens import TokensHead, load_projection
from service.model.load import load_stock
from service.model.lora import merge_layer
from service.model.model import Model
from service.model.qwen3_vl.qwen3_vl import Qwen3VL
from service.model.static_rows import StaticRows
from service.model.stock.embedding_gemma import EmbeddingGemma
from service.model.stock.qwen_omni import QwenOmni
from service.model.stock.still_patches import StillPatches
from service.model.stock.stock_class import stock_class
from service.model.stock.stock_vlm import StockVlm
from service.model.stock.text_encoder import TextEncoder
from service.model.stock.tile_vlm import LineVlm, SquareVlm, TileVlm
from service.model.two_tower.clap import Clap
from service.model.two_tower.image_tower import ImageTower
from service.model.two_tower.two_tower import TwoTower
from service.outputs.kinds import KINDS, find_heads

for _module in pkgutil.iter_modules(service.model.heads.__path__, "service.model.heads."):
    importlib.import_module(_module.name)

BARE = {r"^(?:vlm\.|qwen3vl\.)?(?:model\.)?(?=visual\.|language_model\.)": ""}
"""Names of tensors in the forms of ColQwen3's makers, to the stock module's."""

PALIGEMMA = {
    r"^(?:model\.)*language_model\.(?:model\.)?": "language_model.",
    r"^(?:model\.)*(?=vision_tower\.|multi_modal_projector\.)": "",
}
"""Likewise of ColPali as colpali-engine's releases save it, and older releases of transformers."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a model.

    Attributes:
        dtype: of its weights; None is their own.
        model_class: class of transformers that loads the weights, where the architecture names one.
    """

    folder: Path
    device: torch.device
    dtype: torch.dtype | None
    pooling: PoolingMode
    model_class: str

    def stock(self, name: str, **options: Any) -> PreTrainedModel:
        """A module of the class called `name`; see `load_stock`."""
        return load_stock(stock_class(name), self.folder, self.device, self.dtype, **options)

    def text_encoder(self, **options: Any) -> TextEncoder:
        """See `TextEncoder.load`."""
        return TextEncoder.load(self.folder, self.device, self.dtype, self.model_class, **options)

    def patches(self, stock: PreTrainedModel) -> StillPatches:
        """See `StillPatches.of_checkpoint`."""
        return StillPatches.of_checkpoint(self.folder, cast(Any, stock.config).vision_config)


def pooled_model(backbone: Backbone, pooling: PoolingMode = "last_token") -> Model:
    """A model whose vector is a pooled state as it is."""
    return Model(backbone, PooledHead(pooling, DenseModules([], backbone.width)))


def _embedder(one: Source, backbone: Backbone) -> Model:
    """A model whose vector is a pooled state behind the Dense modules of its folder."""
    return Model(backbone, PooledHead(one.pooling, DenseModules.load(one.folder, one.device, backbone.width)))


def _projected(one: Source) -> Model:
    """Voyage's: a matrix among the weights stands behind each token's state, and so behind their mean."""
    backbone, files = one.text_encoder(elsewhere=(PROJECTION,)), CheckpointFiles(one.folder)
    last = DenseConfig(
        one.folder, backbone.width, positive(files.config, "num_labels"), bias=False, activation="Identity"
    )
    modules = DenseModules.of(
        [last], one.device, backbone.width, is_among_others=True, normalizes=cuts_unit_vectors(files)
    )
    return Model(backbone, PooledHead(one.pooling, modules))


def _colbert(one: Source) -> Model:
    form = colbert_form(CheckpointFiles(one.folder))
    is_among_others = form == "HF_ColBERT"
    backbone = one.text_encoder(elsewhere=(PROJECTION,) if is_among_others else (), masks_tokens=True)
    configs: Sequence[DenseConfig] = (
        [stanford_projection(one.folder)]
        if is_among_others
        else read_token_modules(one.folder, is_pylates=form == "PyLate").dense
    )
    modules = DenseModules.of(configs, one.device, backbone.width, is_among_others=is_among_others)
    return Model(backbone, TokensHead(modules))


def _hybrid(one: Source) -> Model:
    """A dense model with a head for each file of one beside its weights."""
    dense, by_kind = _embedder(one, one.text_encoder()), {head.kind: head for head in FileHead.__subclasses__()}
    found = [by_kind[KINDS[output].kind].read(path, dense.backbone) for output, path in find_heads(one.folder).items()]
    return Model(dense.backbone, *dense.heads.values(), *found)


def _splade(one: Source) -> Model:
    whole, how, table = one.stock("AutoModelForMaskedLM", attention=None), read_splade(one.folder), torch.zeros(0)
    if how.router is not None:
        table = load_file(how.router.queries / SINGLE)[WEIGHT].float().to(one.device)
    return Model(TextEncoder(cast(PreTrainedModel, whole.base_model), whole), SparseHead(whole, how, table))


def _separator(folder: Path, task: str) -> int | None:
    """The first token between two texts of different types; None where all are of one, as in a chat template's text."""
    files = CheckpointFiles(folder)
    if read_reranker_files(files, task).messages is not None:
        return None
    template = read_pair_template(files)
    return template.between[0] if template.has_types else None


def _cross_encoder(one: Source) -> Model:
    whole = one.stock("AutoModelForSequenceClassification", attention=None)
    separator = _separator(one.folder, CLASSIFICATION)
    pools_rows = getattr(whole, "classifier_pooling", None) == "late"
    head = PooledHead(one.pooling, ClassifierModules(whole), pools_rows=pools_rows)
    return Model(TextEncoder(cast(PreTrainedModel, whole.base_model), whole, separator), head)


def _static(one: Source) -> Model:
    own = StaticRows.load(one.folder, one.device)
    return _embedder(one, own if one.dtype is None else own.cast(one.dtype))


def _scorer(one: Source, backbone: Backbone) -> Model:
    """A reranker whose score is what the modules behind its transformer make."""
    layers = read_score_modules(one.folder).layers
    return Model(backbone, PooledHead(one.pooling, DenseModules.of(layers, one.device, backbone.width)))


def _modular_reranker(one: Source) -> Model:
    stock = one.stock("AutoModel", attention=None, may_lack="pooler.")
    return _scorer(one, TextEncoder(stock, separator=_separator(one.folder, FEATURES)))


def _judge(one: Source, backbone: Backbone) -> Model:
    """A reranker whose score is of the tokens that it would answer with."""
    return Model(backbone, PooledHead(one.pooling, answer_modules(one.folder, one.device, backbone.dtype)))


def _qwen3_vl(one: Source) -> Qwen3VL:
    return Qwen3VL(cast(Any, one.stock("Qwen3VLModel")))


def _late_qwen3_vl(one: Source) -> Model:
    """ColQwen3; whatever `model_type` config.json has, it is Qwen3-VL's with a key more."""
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLConfig

    _, found = read_form(CheckpointFiles(one.folder))
    said: dict[str, Any] = json.loads((one.folder / "config.json").read_bytes())
    config = Qwen3VLConfig.from_dict({**said, "model_type": "qwen3_vl"})
    stock = one.stock("Qwen3VLModel", elsewhere=found.tensors, beside=[found.name], config=config, renamed=BARE)
    projection = load_projection(found, one.device, stock.dtype)
    merge_layer(one.folder, found.name, projection)
    return Model(Qwen3VL(cast(Any, stock)), TokensHead(Projection.of(projection)))


def _stock_vlm(one: Source, **options: Any) -> Model:
    stock = one.stock(one.model_class)
    return pooled_model(StockVlm(stock, one.patches(stock), **options), one.pooling)


def _late(
    one: Source, backbone: Callable[[PreTrainedModel], Backbone], name: str = CUSTOM, **options: Mapping[str, str]
) -> Model:
    """A model whose projection stands among its weights, by its name there."""
    found = page_projection(one.folder, name)
    elsewhere = (f"{name}.weight", f"{name}.bias")
    stock = one.stock(one.model_class, elsewhere=elsewhere, beside=[name], **options)
    projection = load_projection(found, one.device, stock.dtype)
    if not found.is_whole:
        merge_layer(one.folder, name, projection)
    return Model(backbone(stock), TokensHead(Projection.of(projection)))


def _late_tiles(one: Source, kind: type[TileVlm], name: str = CUSTOM, **options: Mapping[str, str]) -> Model:
    return _late(one, lambda stock: kind.of_checkpoint(one.folder, stock, stock), name, **options)


def _colqwen2(one: Source) -> Model:
    """The reference hands embeddings and no ids to its decoder, which then counts plainly, also through an image."""
    whole = one.stock("ColQwen2ForRetrieval")
    stock: PreTrainedModel = cast(Any, whole).vlm
    backbone = StockVlm(stock, one.patches(stock), whole, counts_plainly=True)
    return Model(backbone, TokensHead(Projection.of(cast(Any, whole).embedding_proj_layer)))


def _retrieval(one: Source, name: str, kind: type[TileVlm], **options: Any) -> Model:
    whole: Any = one.stock(name, **options)
    return Model(
        kind.of_checkpoint(one.folder, whole.vlm, whole), TokensHead(Projection.of(whole.embedding_proj_layer))
    )


def _line_vlm(one: Source) -> LineVlm:
    stock = one.stock("AutoModel")
    return LineVlm.of_checkpoint(one.folder, stock, stock)


def _embedding_gemma(one: Source) -> Model:
    """EmbeddingGemma 2, in every format but float16, of which its states leave the range."""
    try:
        stock = one.stock("EmbeddingGemma2Model", attention=None)
    except ImportError:
        reason = (
            f"config.json has model_type embedding_gemma2, which transformers {transformers.__version__} does not know"
        )
        raise ModelError("internal_error", f"{reason}; supported: 5.19 and later") from None
    if stock.dtype == torch.float16:
        reason = "EmbeddingGemma 2 cannot run in float16: its states leave the range of the format, and vectors are NaN"
        raise ModelError("internal_error", f"{reason}; supported: --dtype bfloat16, float32")
    hears = cast(Any, stock.config).audio_config is not None
    return _embedder(
        one, EmbeddingGemma(stock, gemma_media.audio_numbers(CheckpointFiles(one.folder)) if hears else {})
    )


def _qwen_omni(one: Source) -> Model:
    """The thinker, whether or not a talker stands beside it."""
    files, config = CheckpointFiles(one.folder), None
    if "thinker_config" in files.config:
        from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniThinkerConfig

        config = Qwen2_5OmniThinkerConfig.from_dict(dict(files.section("thinker_config")))
    stock = one.stock("Qwen2_5OmniThinkerModel", config=config)
    return _embedder(one, QwenOmni(stock, one.patches(stock), omni_media.audio_numbers(files)))


def _two_tower(one: Source) -> Model:
    """A model whose pooling of texts is the stock module's own."""
    stock = one.stock("AutoModel")
    return pooled_model(TwoTower(stock, read_scaling(one.folder, stock.config.model_type)))


def _image_tower(one: Source) -> Model:
    kind = processor_class(one.folder)
    found, scaling = read_square(one.folder, kind), read_scaling(one.folder, kind)
    return pooled_model(ImageTower(one.stock("AutoModel"), scaling, found.side, in_floats=kind == DINOV3))


ARCHITECTURES: Mapping[str, Callable[[Source], Model]] = {
    "text_encoder": lambda one: _embedder(one, one.text_encoder()),
    "projected": _projected,
    "colbert": _colbert,
    "hybrid": _hybrid,
    "splade": _splade,
    "cross_encoder": _cross_encoder,
    "static": _static,
    "modular_reranker": _modular_reranker,
    "text_judge": lambda one: _judge(one, one.text_encoder()),
    "qwen3_vl": lambda one: pooled_model(_qwen3_vl(one), one.pooling),
    "qwen3_vl_reranker": lambda one: _judge(one, _qwen3_vl(one)),
    "late_qwen3_vl": _late_qwen3_vl,
    "stock_vlm_plain": lambda one: _stock_vlm(one, counts_plainly=True),
    "stock_vlm_mrope": _stock_vlm,
    "stock_vlm_mrope_of_image": lambda one: _stock_vlm(one, of_image=True),
    "stock_vlm_of_videos": lambda one: _stock_vlm(one, sees_videos=True),
    "late_vlm": lambda one: _late(one, lambda stock: StockVlm(stock, one.patches(stock))),
    "late_paligemma": lambda one: _late_tiles(one, SquareVlm, renamed=PALIGEMMA),
    "late_idefics3": lambda one: _late_tiles(one, TileVlm, LINEAR),
    "colqwen2": _colqwen2,
    "colmodernvbert": lambda one: _retrieval(one, "ColModernVBertForRetrieval", TileVlm),
    "colpali": lambda one: _retrieval(
        one,
        "ColPaliForRetrieval",
        SquareVlm,
        renamed={old.replace("^", r"^vlm\."): f"vlm.{new}" for old, new in PALIGEMMA.items()},
    ),
    "mistral3": lambda one: _embedder(one, _line_vlm(one)),
    "mistral3_reranker": lambda one: _scorer(one, _line_vlm(one)),
    "embedding_gemma2": _embedding_gemma,
    "qwen_omni": _qwen_omni,
    "two_tower": _two_tower,
    "image_tower": _image_tower,
    "clap": lambda one: pooled_model(Clap(one.stock("AutoModel", attention=None), read_clap_features(one.folder))),
}


def load_model(
    architecture: str, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
) -> Model:
    """Load a checkpoint; a `dtype` of None is its own, and `text_encoder:NAME` has the class that loads the weights."""
    name, _, model_class = architecture.partition(":")
    if name not in ARCHITECTURES:
        raise ValueError(f"no code runs the architecture {architecture}")
    torch.backends.cudnn.allow_tf32 = False  # a tower's convolution in float32 would round to 10 bits on a GPU
    return ARCHITECTURES[name](Source(folder, device, dtype, pooling, model_class or "AutoModel"))
