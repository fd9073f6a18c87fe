"""Late chunking: chunks of one text each have a dense vector, the mean of their tokens' states in one forward.

`service/prompt/late_chunking.py` makes the prompts, the windows, each of which holds several chunks.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import ClassVar

from schemas.endpoints.embeddings import ChunkPlace, EmbeddingRequest
from service.errors import InputError
from service.outputs.ask import Offer
from service.outputs.block import Row, Rows
from service.outputs.dense import DenseAsk


class ChunksAsk(DenseAsk, frozen=True, tag="chunks"):
    """A vector for each span of a prompt's plan, one after the other in a row."""

    output: ClassVar[str] = ""  # models say by themselves whether they give it
    is_uniform: ClassVar[bool] = False
    joins_inputs: ClassVar[bool] = True


def embeddings_ask(body: EmbeddingRequest, dimensions: int, offer: Offer) -> DenseAsk:
    """Output of a request of `/v1/embeddings`: a vector of each input, which may be a chunk.

    Raises:
        InputError: the model does not offer late chunking.
    """
    if body.late_chunking and not offer.gives_chunks:
        kinds = ", ".join(offer.kinds)
        message = (
            f"`late_chunking`: got true; {offer.name} pools by `{offer.pooling}` and has `outputs` {kinds}. It is for "
            "models with `dense` alone that pool by `mean`: `/v1/models` names them by `late_chunking`"
        )
        raise InputError("invalid_request", message, param="late_chunking")
    kind = ChunksAsk if body.late_chunking else DenseAsk
    return kind(
        dimensions=dimensions,
        output_dtypes=(body.embed_dtype or "float32",),
        normalize=offer.normalize if body.normalize is None else body.normalize,
    )


def rows_of_chunks(rows: Rows, number: int) -> list[Rows]:
    """The rows of each of so many chunks, out of those of their window."""
    return [{name: _part(row, place, number) for name, row in rows.items()} for place in range(number)]


def chunk_places(body: EmbeddingRequest, num_tokens: Sequence[int]) -> list[ChunkPlace]:
    """The place of each chunk in the text; `num_tokens` are those of each, none where there are no chunks."""
    if not num_tokens:
        return []
    texts = [body.input] if isinstance(body.input, str) else [one for one in body.input or [] if isinstance(one, str)]
    bounds = pairwise([0, *accumulate(map(len, texts))])
    return [
        ChunkPlace(start=start, end=end, num_tokens=number)
        for (start, end), number in zip(bounds, num_tokens, strict=True)
    ]


def _part(row: Row, place: int, number: int) -> Row:
    width = len(row) // number
    return row[place * width : (place + 1) * width]
