"""The two forms of request that a run may send: to `/v1/embeddings` for dense vectors, to `/v2/embed` for every kind.

Both take the same content and give the same dense vector. The first holds an instruction for each input, so that all
instructions of an image are one request; the second holds every kind of vector, of one forward. With late chunking the
first holds all chunks of a text, whichever are asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from service.ingest.item import Ask
from service.ingest.plan import Plan
from service.ingest.sending.answers import ServerAnswer
from service.ingest.sending.conversations import Conversations
from service.ingest.sending.every_kind import EveryKind
from service.ingest.sending.late_chunks import ChunkedTexts
from service.ingest.sending.media import LoadedMedia
from service.ingest.vectors import DENSE_ALONE


class RequestForm(Protocol):
    """Builds requests and reads their answers.

    Attributes:
        path: of the route.
    """

    path: str

    def requests(self, asks: Sequence[Ask]) -> Sequence[Sequence[Ask]]:
        """The asks of each request that a batch needs."""
        ...

    def body(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia]) -> bytes:
        """The request for `asks`, in order, with media by the item's id; asks of one image are adjacent."""
        ...

    def read(self, body: bytes, headers: Mapping[str, str], asks: Sequence[Ask]) -> ServerAnswer:
        """The body of a 200, an entry for each ask.

        Raises:
            IngestError: it is no answer to these asks, so this is no Cenote server.
        """
        ...


def form_of(model: str, plan: Plan) -> RequestForm:
    """The form of request for the vectors of `plan`."""
    if plan.late_chunking:
        return ChunkedTexts(model, plan)
    return Conversations(model, plan) if plan.outputs == DENSE_ALONE else EveryKind(model, plan)
