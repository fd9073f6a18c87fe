"""The lines of a stream's answer, whose vectors are printed while they are sent, and the counts of its last line."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec
from msgspec import UNSET

from schemas.endpoints.embeddings import Embedding
from schemas.endpoints.stream import StreamEnd, StreamFailure, StreamVector
from schemas.errors import ErrorBody, RuleError
from service import metrics
from service.accounting import EVERYONE
from service.errors import ServiceError
from service.front.job import EmbeddedInput, InputResult
from service.front.usage import InputCounts
from service.http.errors import report_error
from service.http.request import LINES
from service.http.stream.items import Item
from service.outputs.dense import VectorFormat


@dataclass(slots=True)
class StreamTally:
    """The counts of one stream so far.

    Attributes:
        tenant: its name in the log.
        num_lines: lines that were read.
        is_complete: the body was read to its end.
        counts: the cost of the answered lines.
    """

    request_id: str
    vector_format: VectorFormat
    tenant: str = EVERYONE
    num_lines: int = 0
    num_answered: int = 0
    num_failed: int = 0
    is_complete: bool = False
    counts: InputCounts = field(default_factory=InputCounts)
    _num_batched: int = 0

    def lines(
        self, group: Sequence[Item], results: Sequence[InputResult | RuleError]
    ) -> list[StreamVector | StreamFailure]:
        """The lines that answer a group of items, one result each; they are counted here."""
        answered = [one for one in results if isinstance(one, EmbeddedInput)]
        self._count(answered, len(group) - len(answered))
        return [
            self._vector(item, one) if isinstance(one, EmbeddedInput) else self._failure(item, one)
            for item, one in zip(group, results, strict=True)
        ]

    def _vector(self, item: Item, one: EmbeddedInput) -> StreamVector:
        prompt, vector = one.prompt, one.vector
        written = cast(Embedding, self.vector_format.json(vector.rows[self.vector_format.dtype]))
        return StreamVector(
            index=item.index,
            id=item.id,
            embedding=written,
            truncated=prompt.truncated,
            prompt_tokens=len(prompt.plan.ids),
            image_tokens=prompt.num_image_tokens,
            encoder_cache_hits=vector.num_hits,
            encoder_cache_misses=vector.num_misses,
        )

    def _failure(self, item: Item, error: ServiceError | RuleError) -> StreamFailure:
        body = line_error(error, item.index, self.request_id)
        return StreamFailure(index=item.index, id=item.id, error=body)

    def end(self, model: str, fingerprint: str, error: ServiceError | None) -> StreamEnd:
        """The last line; `error` says why the body was not read to its end."""
        self.is_complete = error is None
        return StreamEnd(
            complete=self.is_complete,
            num_lines=self.num_lines,
            num_answered=self.num_answered,
            num_failed=self.num_failed,
            model=model,
            fingerprint=fingerprint,
            usage=self.counts.usage(self.num_answered + self.num_failed),
            error=UNSET if error is None else report_error(error, self.request_id),
        )

    def log_fields(self) -> dict[str, object]:
        """Fields of the request's log line."""
        return {
            LINES: self.num_lines,
            "answered": self.num_answered,
            "failed": self.num_failed,
            "complete": self.is_complete,
            "inputs": self.num_answered + self.num_failed,
            "tokens": self.counts.num_tokens,
            "cache_hits": self.counts.num_hits,
            "cache_misses": self.counts.num_misses,
            "batch": self._num_batched,
        }

    def _count(self, answered: Sequence[EmbeddedInput], num_failed: int) -> None:
        group = InputCounts()
        for one in answered:
            group.add(one.prompt, one.vector)
            self.counts.add(one.prompt, one.vector)
        self.num_answered += len(answered)
        self.num_failed += num_failed
        self._num_batched = max([self._num_batched, *(one.vector.num_batched for one in answered)])
        metrics.TENANTS.count(self.tenant, inputs=len(answered) + num_failed, tokens=group.num_tokens)
        group.observe()
        metrics.STREAM_LINES.labels("embedding").inc(len(answered))
        metrics.STREAM_LINES.labels("error").inc(num_failed)


def line_error(error: ServiceError | RuleError, index: int, request_id: str) -> ErrorBody:
    """The error body of a line: paths begin at the line, and the index is the line's.

    Args:
        error: not changed, since a group of lines may share it.
    """
    body = report_error(error, request_id)
    missing = body.missing
    if missing is not UNSET:
        missing = [msgspec.structs.replace(one, index=index) for one in missing]
    # The path of a whole item is empty here: an error of all its parts names `content`.
    param = "content" if body.param == "" else body.param
    return msgspec.structs.replace(body, index=index, param=param, missing=missing)
