"""What may be pooled by `pool_factor`: documents of late interaction, up to a number of vectors.

Each error names the field, or the input.
"""

from service.errors import InputError
from service.front.served_model import ServedModel
from service.prompt.prompt import Prompt
from service.prompt.text_side import QUERY

MAX_POOLED = 4096
"""Vectors of one document: their distances are 134 MB in float64, and are joined in some 0.6 s."""


def check_pooling(model: ServedModel, factor: float | None, side: str | None) -> None:
    """Refuse a factor for a model that has no token vectors of its own, or for queries.

    Args:
        factor: of the request; None: none was sent.
        side: the instruction that its `input_type` stands for.

    Raises:
        InputError: one is given that means nothing.
    """
    if factor is None:
        return
    if not model.is_multi_vector:
        message = (
            f"`pool_factor`: got {factor:g}; it is for documents of late-interaction models, and the `outputs` of "
            f"{model.name} are {', '.join(model.outputs)}"
        )
        raise InputError("invalid_request", message, param="pool_factor")
    if model.profile.sides and side == QUERY:
        message = f"`pool_factor`: got {factor:g} with an `input_type` of queries; only documents are pooled"
        raise InputError("invalid_request", message, param="pool_factor")


def check_pooled(model: ServedModel, prompt: Prompt, param: str, index: int) -> None:
    """Refuse an input that is a query, since a page model's texts are, or that has too many vectors.

    Raises:
        InputError: it is such a one.
    """
    if not model.profile.sides and not prompt.placeholders:
        message = f"`{param}`: a text is a query of {model.name}, and `pool_factor` is for documents, its pages"
        raise InputError("invalid_request", message, param=param, index=index)
    if (number := len(prompt.token_ids) - len(prompt.dropped)) > MAX_POOLED:
        message = f"`{param}`: has {number} vectors; with `pool_factor` it may have {MAX_POOLED}"
        raise InputError("context_length_exceeded", message, param=param, index=index)
