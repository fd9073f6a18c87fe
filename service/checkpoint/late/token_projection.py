"""The projection that gives each token a vector, as it is saved beside the decoder's weights, and ColQwen3's forms.

Reads headers alone: where the matrix is, and its shape. ColQwen3 is released as Qwen3-VL and a projection, by different
names. Imports no torch.

Source: colpali-engine 0.3.18 `ColQwen2_5` and `ColQwen3`, whose layer is `custom_text_proj`;
TomoroAI/tomoro-colqwen3-embed, `modeling_colqwen3.py` and `processing_colqwen3.py`; OpenSearch-AI/Ops-Colqwen3 as mteb
runs it, `OpsColQwen3Wrapper`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.weight_files import check_plain, list_weight_files, read_header

TOKENS_PIXELS = 32 * 32
"""Pixels of a visual token."""
CUSTOM, LINEAR = "custom_text_proj", "linear"
"""colpali-engine's names of the layer; the second is ColIdefics3's."""
ATTENTION, CONTRACTS = "retrieval_attention_contract", ("causal", "bidirectional")
"""Key of ColQwen3.5's config.json that says how it was trained, and its values."""


@dataclass(frozen=True, slots=True)
class TokenProjection:
    """A linear layer with a bias among a checkpoint's tensors.

    Attributes:
        files: that hold `name.weight` and `name.bias`, in this order.
        dimensions: numbers of a token's vector: of the layer, or fewer, its first ones.
        width: of a hidden state.
        is_whole: an adapter's share is in it.
    """

    name: str
    files: tuple[Path, Path]
    dimensions: int
    width: int
    is_whole: bool = False

    @property
    def tensors(self) -> tuple[str, str]:
        """Names of its two tensors."""
        return f"{self.name}.weight", f"{self.name}.bias"


def find_projection(folder: Path, names: Sequence[str] = (CUSTOM,)) -> TokenProjection | None:
    """The layer that has one of these names; None where the checkpoint has none."""
    tensors = {key: (path, one) for path in list_weight_files(folder) for key, one in read_header(path).items()}
    name = next((name for name in names if f"{name}.weight" in tensors), None)
    if name is None:
        return None
    if f"{name}.bias" not in tensors:
        raise CheckpointError(f"{folder} has {name}.weight without {name}.bias; supported: a linear layer with both")
    (weight_file, weight), (bias_file, bias) = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    check_plain(weight_file, f"{name}.weight", weight)
    shape = weight.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or bias.get("shape") != shape[:1]:
        raise CheckpointError(f"{folder} has {name} of the shapes {shape!r} and {bias.get('shape')!r}, no linear layer")
    return TokenProjection(name, (weight_file, bias_file), dimensions=int(shape[0]), width=int(shape[1]))


def need_projection(folder: Path, names: Sequence[str]) -> TokenProjection:
    """The same, which has to be there."""
    found = find_projection(folder, names)
    if found is None:
        raise CheckpointError(f"{folder} has no linear layer {' or '.join(names)}")
    return found


def check_projection(files: CheckpointFiles, found: TokenProjection, width: int) -> TokenProjection:
    """The layer, once it is one for states of this width, and no vectors are masked."""
    if found.width != width:
        raise CheckpointError(f"{files.folder} has no linear layer {found.name} over the decoder's {width} numbers")
    if files.config.get("mask_non_image_embeddings"):
        raise CheckpointError(
            f"config.json has mask_non_image_embeddings {files.config['mask_non_image_embeddings']!r}; supported: false"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Facts that releases of one form have in common and their files do not state.

    Attributes:
        projections: names of the layer that gives a token its vector.
        query_prefix: text before a query, where the processor's file has none.
        strips: blanks at a query's ends are dropped.
        answers: a page's prompt ends in the assistant's turn.
        max_tokens: visual tokens of a page, where the form's processor overrides its file; else 0.
        size_key: of config.json: numbers of a vector; empty where it has none.
        may_cut: a vector may be shorter than what the layer gives: its beginning.
    """

    projections: tuple[str, ...] = (CUSTOM,)
    query_prefix: str = ""
    strips: bool = False
    answers: bool = False
    max_tokens: int = 0
    size_key: str = ""
    may_cut: bool = False


FORMS: Mapping[str, Form] = {
    "qwen3_vl": Form(),
    "colqwen3": Form(projections=("embedding_proj_layer", CUSTOM), strips=True, max_tokens=1_280, size_key="embed_dim"),
    "ops_colqwen3": Form(query_prefix="Query: ", answers=True, size_key="dims", may_cut=True),
}
"""`model_type` of config.json, to the form: colpali-engine's, TomoroAI's, OpenSearch-AI's."""


def read_form(files: CheckpointFiles) -> tuple[Form, TokenProjection]:
    """The form of a checkpoint, and its projection with the number of a vector's numbers."""
    form, config = FORMS[str(files.model_type)], files.config
    width = positive(files.section("text_config"), "hidden_size")
    found = check_projection(files, need_projection(files.folder, form.projections), width)
    if not form.size_key or (form.size_key not in config and not form.may_cut):
        return form, found
    size = positive(config, form.size_key)
    if size > found.dimensions or (size < found.dimensions and not form.may_cut):
        raise CheckpointError(
            f"config.json has {form.size_key} {size}, but {found.name} gives {found.dimensions} numbers"
        )
    return form, replace(found, dimensions=size)
