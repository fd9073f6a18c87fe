"""The forms in which ColQwen3 is released: Qwen3-VL and a projection of tokens, by different names. Imports no torch.

Sources: colpali-engine 0.3.18 `ColQwen3`; TomoroAI/tomoro-colqwen3-embed, `modeling_colqwen3.py` and
`processing_colqwen3.py`; OpenSearch-AI/Ops-Colqwen3 as mteb runs it, `OpsColQwen3Wrapper`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.token_projection import CUSTOM, TokenProjection, find_projection

TOKENS_PIXELS = 32 * 32
"""Pixels of a visual token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Facts that releases of one form have in common and their files do not state.

    Attributes:
        projections: names of the layer that gives a token its vector.
        query_prefix: text before a query, where the processor's file has none.
        strips: blanks at a query's ends are dropped.
        answers: a page's prompt ends in the assistant's turn.
        max_tokens: visual tokens of a page, where the form's processor overrides its file.
        size_key: of config.json: numbers of a vector.
        may_cut: a vector may be shorter than what the layer gives: its beginning.
    """

    projections: tuple[str, ...] = (CUSTOM,)
    query_prefix: str = ""
    strips: bool = False
    answers: bool = False
    max_tokens: int | None = None
    size_key: str | None = None
    may_cut: bool = False


FORMS: Mapping[str, Form] = {
    "qwen3_vl": Form(),
    "colqwen3": Form(projections=("embedding_proj_layer", CUSTOM), strips=True, max_tokens=1_280, size_key="embed_dim"),
    "ops_colqwen3": Form(query_prefix="Query: ", answers=True, size_key="dims", may_cut=True),
}
"""`model_type` of config.json, to the form: colpali-engine's, TomoroAI's, OpenSearch-AI's."""


def read_form(files: CheckpointFiles) -> tuple[Form, TokenProjection]:
    """The form of a checkpoint, and its projection with the number of a vector's numbers.

    Raises:
        CheckpointError: there is no projection, it is no linear layer, or does not fit to config.json.
    """
    form, config = FORMS[str(files.model_type)], files.config
    width = positive(files.section("text_config"), "hidden_size")
    found = find_projection(files.folder, form.projections)
    if found is None or found.width != width:
        raise CheckpointError(
            f"{files.folder} has no linear layer {' or '.join(form.projections)} over the decoder's {width} numbers"
        )
    if config.get("mask_non_image_embeddings"):
        raise CheckpointError(
            f"config.json has mask_non_image_embeddings {config['mask_non_image_embeddings']!r}; supported: false"
        )
    if form.size_key is None or (form.size_key not in config and not form.may_cut):
        return form, found
    size = positive(config, form.size_key)
    if size > found.dimensions or (size < found.dimensions and not form.may_cut):
        raise CheckpointError(
            f"config.json has {form.size_key} {size}, but {found.name} gives {found.dimensions} numbers"
        )
    return form, replace(found, dimensions=size)
