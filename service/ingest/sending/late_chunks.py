"""Requests to `/v1/embeddings` with `late_chunking`: all chunks of a text at once, under one instruction.

A run that was resumed and lacks some of the chunks sends all of them again: the vector of each depends on the others.
"""

from collections.abc import Mapping, Sequence

import orjson

from service.ingest.errors import FailureReason
from service.ingest.item import Ask, FailedAsk
from service.ingest.sending.answers import ItemError, ServerAnswer
from service.ingest.sending.conversations import Conversations
from service.ingest.sending.media import LoadedMedia


class ChunkedTexts(Conversations):
    """Dense vectors of chunks; of all other items as ever."""

    def requests(self, asks: Sequence[Ask]) -> Sequence[Sequence[Ask]]:
        """One request for each text and instruction."""
        others = [ask for ask in asks if ask.item.late is None]
        texts: dict[tuple[int, str | None], list[Ask]] = {}
        for ask in asks:
            if ask.item.late is not None:
                texts.setdefault((id(ask.item.late.chunks), ask.instruction), []).append(ask)
        return [*(super().requests(others) if others else ()), *texts.values()]

    def body(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia]) -> bytes:
        """The whole text of chunks, or a conversation for each ask."""
        late, instruction = asks[0].item.late, asks[0].instruction
        if late is None:
            return super().body(asks, media)
        settings = self._settings | ({} if instruction is None else {"instruction": instruction})
        return orjson.dumps(settings | {"input": late.chunks, "late_chunking": True})

    def read(self, body: bytes, headers: Mapping[str, str], asks: Sequence[Ask]) -> ServerAnswer:
        """The entries of the chunks that were asked for.

        Raises:
            IngestError: it is no answer to so many inputs.
        """
        if asks[0].item.late is None:
            return super().read(body, headers, asks)
        whole = self._answer(body, len(asks[0].item.late.chunks))
        return ServerAnswer(
            [whole.entries[ask.item.late.index] for ask in asks if ask.item.late is not None], whole.cache
        )


def late_failures(asks: Sequence[Ask], error: ItemError) -> list[FailedAsk]:
    """All chunks of a text that was refused, for none has a vector without the others; the error may name one."""
    reason, late = error.reason, asks[0].item.late
    if late is not None and error.index is not None:
        number = late.number - late.index + error.index
        reason = FailureReason(reason.code, f"chunk {number} of its text: {reason.message}")
    return [FailedAsk(ask, reason) for ask in asks]
