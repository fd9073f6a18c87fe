"""A row of the models that people serve: what decides of its released files, and what the loader says of them.

Plain data, without torch: docs/models.md is written from it, and `tests/models/folders/test_used.py` puts the files of
each row over a small folder and asks the loader. Keys are those of the release, but for sizes; a comment says which
were not seen.

Source: mteb 2.26 (`ModelMeta`), the registries of vLLM 0.33, text-embeddings-inference and NeMo AutoModel,
sentence-transformers 6.2, files of the released models where they were found.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Files = Mapping[str, Any]
"""Files by name: an object's keys are put over those of the folder (null takes one out), all else is written whole."""
NAMES, SETTINGS, TOKENIZER = "config_sentence_transformers.json", "sentence_bert_config.json", "tokenizer_config.json"
OLD = "sentence_transformers.models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """One model, or several of the same files.

    Attributes:
        names: on the hub.
        base: of `tests/models/folders/bases.py`, the nearest of our small folders.
        config: keys of the released config.json that decide, null for one that it has not.
        files: further files of the release.
        lacks: files that the base has and the release has not.
        family: that serves it; empty: it is refused.
        chosen: only by `--family`: the files say less than the family's name.
        adapts: keys of its adapter_config.json, where it is an adapter and all else is its base's.
        tasks: whose adapters it has beside its weights, one of which is chosen.
        in_one: they are one file.
        tensors: released tensors that the base has not, by their shapes; then the engine loads it, too.
        refused: words of the error.
        why: what they do not say.
    """

    names: tuple[str, ...]
    base: str
    config: Mapping[str, Any]
    files: Files = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    family: str = ""
    chosen: bool = False
    adapts: Mapping[str, Any] | None = None
    tasks: tuple[str, ...] = ()
    in_one: bool = False
    tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    refused: str = ""
    why: str = ""


def served(
    family: str, base: str, names: str, config: Mapping[str, Any], files: Files | None = None, **more: Any
) -> Used:
    """A row that a family serves."""
    return Used(names=tuple(names.split()), base=base, config=config, files=files or {}, family=family, **more)


def refused(
    words: str, base: str, names: str, config: Mapping[str, Any], files: Files | None = None, **more: Any
) -> Used:
    """A row that the loader refuses in these words; empty: for its model_type."""
    words = words or f"model_type {config['model_type']!r}, not supported"
    return Used(names=tuple(names.split()), base=base, config=config, files=files or {}, refused=words, **more)


def of(model_type: str | None, *architectures: str, **keys: Any) -> dict[str, Any]:
    """config.json's keys."""
    return {"model_type": model_type, "architectures": [*architectures] or None, **keys}


def entries(*kinds: tuple[str, str]) -> dict[str, list[dict[str, Any]]]:
    """modules.json of types and paths."""
    found = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (kind, path) in enumerate(kinds)]
    return {"modules.json": found}


def modules(pooling: str, *behind: str, prompts: Mapping[str, str] | None = None, **dense: Any) -> dict[str, Any]:
    """sentence-transformers' files: Transformer, Pooling and what stands behind, as releases before 6 write them."""
    kinds = ["Transformer", "Pooling", *behind]
    paths = ["", *(f"{i}_{kind}" for i, kind in enumerate(kinds) if i)]
    switches = {"cls_token": "cls", "mean_tokens": "mean", "lasttoken": "last"}
    pooled = {f"pooling_mode_{key}": name == pooling for key, name in switches.items()}
    linear = {
        "in_features": 32,
        "out_features": 32,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    return {
        **entries(*((f"{OLD}.{kind}", path) for kind, path in zip(kinds, paths, strict=True))),
        "1_Pooling/config.json": {"pooling_mode": None, **pooled},
        NAMES: {"prompts": prompts or {}, "default_prompt_name": None, "similarity_fn_name": "cosine"},
        **{f"{path}/config.json": linear | dense for path in paths if path.endswith("_Dense")},
    }


def own(automodel: str, config: str = "") -> dict[str, dict[str, str]]:
    """`auto_map` of config.json: code of the folder's own."""
    return {"auto_map": {"AutoModel": automodel} | ({"AutoConfig": config} if config else {})}


MEAN, CLS, LAST = (modules(pooling, "Normalize") for pooling in ("mean", "cls", "last"))
ABSOLUTE = {"position_embedding_type": "absolute"}
ONE_LABEL = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
NEW_KEYS = {
    **own("Alibaba-NLP/new-impl--modeling.NewModel", "Alibaba-NLP/new-impl--configuration.NewConfig"),
    "layer_norm_type": "layer_norm",
    "logn_attention_clip1": False,
    "logn_attention_scale": False,
    "pack_qkv": True,
    "position_embedding_type": "rope",
    "rope_parameters": None,
    "rope_theta": 20000,
    "unpad_inputs": False,
    "use_memory_efficient_attention": False,
}
QWEN2_OWN = own("modeling_qwen.Qwen2Model")

FLASH = "roberta.encoder.layers.0.mixer.Wqkv.weight"
"""One of the tensors of jinaai/xlm-roberta-flash-implementation."""
UNKNOWN = "tensors that its model does not know: "
KIND = "a reranker of a kind not supported"
NEITHER = "which several models share, and nothing in the files says which this is"
