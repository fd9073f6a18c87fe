"""Requests to `/v1/embeddings`: each ask is a conversation with its own instruction.

An image is sent once, with a uuid made from its content; further instructions for the same image refer to the uuid. So
the image is read, sent, decoded and encoded once. Frames of a video have no uuid: they are sent for each instruction,
and encoded once.

With late chunking all chunks of a text are one request, under one instruction. A run that was resumed and lacks some of
the chunks sends all of them again: the vector of each depends on the others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import orjson

from service.ingest.errors import FailureReason, IngestError
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import Ask, FailedAsk
from service.ingest.plan import Plan
from service.ingest.sending.answers import ItemError, ServerAnswer, read_components
from service.ingest.sending.media import LoadedImage, LoadedMedia, by_instruction, content
from service.ingest.vectors import Vectors


class _Entry(msgspec.Struct, frozen=True):
    """One input's vector, in base64, or its error."""

    embedding: str | None
    error: ItemError | None = None


class _CacheUsage(msgspec.Struct, frozen=True):
    """Encoder cache counts of a request."""

    encoder_cache_hits: int = 0
    encoder_cache_misses: int = 0


class _Answer(msgspec.Struct, frozen=True):
    """One entry for each input, in order."""

    data: list[_Entry]
    usage: _CacheUsage


class Conversations:
    """Dense vectors of conversations."""

    path = "/v1/embeddings"

    def __init__(self, model: str, plan: Plan, *, truncate: bool) -> None:
        self._dimensions = plan.dimensions
        self._settings: dict[str, Any] = {
            "model": model,
            "dimensions": plan.dimensions,
            "normalize": plan.normalize,
            "encoding_format": "base64",
        } | ({"truncate_prompt_tokens": -1} if truncate else {})

    def requests(self, asks: Sequence[Ask]) -> Sequence[Sequence[Ask]]:
        """One request, whatever the instructions; of videos one for each, since each holds all frames."""
        return by_instruction(asks) if any(isinstance(ask.item.media, VideoSegment) for ask in asks) else [asks]

    def body(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia]) -> bytes:
        """A conversation for each ask."""
        uses = Counter(one.name for ask in asks if isinstance(one := media.get(ask.item.id), LoadedImage))
        sent: set[str] = set()
        conversations = []
        for ask in asks:
            parts = content(ask, media, lambda image: _part(image, sent, is_shared=uses[image.name] > 1))
            system = [] if ask.instruction is None else [{"role": "system", "content": ask.instruction}]
            conversations.append([*system, {"role": "user", "content": parts}])
        return orjson.dumps(self._settings | {"on_error": "per_item", "messages": conversations})

    def read(self, body: bytes, headers: Mapping[str, str], asks: Sequence[Ask]) -> ServerAnswer:
        """Read vectors, errors and cache counts."""
        return self._answer(body, len(asks))

    def _answer(self, body: bytes, num_inputs: int) -> ServerAnswer:
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except msgspec.DecodeError as error:
            raise IngestError(f"{self.path} gave an unexpected answer: {error}") from None
        if len(answer.data) != num_inputs:
            raise IngestError(f"{self.path} answered {len(answer.data)} vectors, expected {num_inputs}")
        usage = answer.usage
        entries = [self._vectors(entry) for entry in answer.data]
        return ServerAnswer(entries, usage.encoder_cache_hits, usage.encoder_cache_misses)

    def _vectors(self, entry: _Entry) -> Vectors | ItemError:
        if entry.error is not None:
            return entry.error
        return Vectors(dense=read_components(entry.embedding or "", self._dimensions, self.path))


def _part(image: LoadedImage, sent: set[str], *, is_shared: bool) -> dict[str, Any]:
    """The image, or its uuid if it was `sent` before. Only shared images get one, since the server keeps uuids."""
    part: dict[str, Any] = {"type": "image_url"}
    if image.name not in sent:
        part["image_url"] = {"url": image.url}
    if image.name and is_shared:
        part["uuid"] = image.name
        sent.add(image.name)
    return part


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
        """The entries of the chunks that were asked for."""
        if asks[0].item.late is None:
            return super().read(body, headers, asks)
        whole = self._answer(body, len(asks[0].item.late.chunks))
        entries = [whole.entries[ask.item.late.index] for ask in asks if ask.item.late is not None]
        return ServerAnswer(entries, whole.hits, whole.misses)


def late_failures(asks: Sequence[Ask], error: ItemError) -> list[FailedAsk]:
    """All chunks of a text that was refused, for none has a vector without the others; the error may name one."""
    reason, late = error.reason, asks[0].item.late
    if late is not None and error.index is not None:
        number = late.number - late.index + error.index
        reason = FailureReason(reason.code, f"chunk {number} of its text: {reason.message}")
    return [FailedAsk(ask, reason) for ask in asks]
