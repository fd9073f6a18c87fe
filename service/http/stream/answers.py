"""The lines of a stream's answer, and the count of what they tell.

In: what became of a line. Out: structs of `schemas.stream`, whose vectors are printed while they are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec
from msgspec import UNSET

from schemas.embeddings import Embedding
from schemas.errors import ErrorBody
from schemas.rule_error import RuleError
from schemas.stream import StreamEnd, StreamFailure, StreamVector
from service import metrics
from service.errors import ServiceError
from service.front.job import Answered, Outcome
from service.front.usage import InputCounts
from service.http.errors import error_body
from service.http.exchange import LINES
from service.http.stream.items import Item
from service.http.tenant_counts import EVERYONE, TENANTS
from service.http.vector_format import VectorFormat


@dataclass(slots=True)
class Tally:
    """What a stream has come to.

    Attributes:
        request_id: of the request.
        vector_format: how vectors are written.
        tenant: whose stream it is, as the log calls them.
        num_lines: lines that were read.
        num_answered: lines answered with a vector.
        num_failed: lines answered with an error.
        is_complete: the body was read to its end.
        counts: what the answered lines cost.
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

    def lines(self, group: Sequence[Item], ends: Sequence[Outcome | RuleError]) -> list[StreamVector | StreamFailure]:
        """The lines of a group, which are counted from here on.

        Args:
            group: items.
            ends: what became of each.
        """
        answered = [end for end in ends if isinstance(end, Answered)]
        self._count(answered, len(group) - len(answered))
        return [
            self._vector(item, end) if isinstance(end, Answered) else self._failure(item, end)
            for item, end in zip(group, ends, strict=True)
        ]

    def _vector(self, item: Item, one: Answered) -> StreamVector:
        prompt, vector = one.prompt, one.vector
        written = cast(Embedding, self.vector_format.json(vector.rows[self.vector_format.dtype]))
        return StreamVector(
            index=item.index,
            id=UNSET if item.id is None else item.id,
            embedding=written,
            truncated=prompt.truncated,
            prompt_tokens=len(prompt.token_ids),
            image_tokens=prompt.num_image_tokens,
            encoder_cache_hits=vector.num_hits,
            encoder_cache_misses=vector.num_misses,
        )

    def _failure(self, item: Item, error: ServiceError | RuleError) -> StreamFailure:
        body = line_error(error, item.index, self.request_id)
        return StreamFailure(index=item.index, id=UNSET if item.id is None else item.id, error=body)

    def end(self, model: str, fingerprint: str, error: ServiceError | None) -> StreamEnd:
        """The last line.

        Args:
            model: its name as the query gave it.
            fingerprint: the model's.
            error: why the body was not read to its end, or None.
        """
        self.is_complete = error is None
        return StreamEnd(
            complete=self.is_complete,
            num_lines=self.num_lines,
            num_answered=self.num_answered,
            num_failed=self.num_failed,
            model=model,
            fingerprint=fingerprint,
            usage=self.counts.usage(self.num_answered + self.num_failed),
            error=UNSET if error is None else error_body(error, self.request_id),
        )

    def told(self) -> dict[str, object]:
        """What the log line tells."""
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

    def _count(self, answered: Sequence[Answered], num_failed: int) -> None:
        counts = self.counts
        num_tokens, num_precomputed, num_truncated = counts.num_tokens, counts.num_precomputed, counts.num_truncated
        for one in answered:
            counts.add(one.prompt, one.vector)
        self.num_answered += len(answered)
        self.num_failed += num_failed
        self._num_batched = max([self._num_batched, *(one.vector.num_batched for one in answered)])
        TENANTS.embedded(self.tenant, len(answered) + num_failed, counts.num_tokens - num_tokens)
        metrics.STREAM_LINES.labels("embedding").inc(len(answered))
        metrics.STREAM_LINES.labels("error").inc(num_failed)
        metrics.PRECOMPUTED.inc(counts.num_precomputed - num_precomputed)
        metrics.TRUNCATED.inc(counts.num_truncated - num_truncated)


def line_error(error: ServiceError | RuleError, index: int, request_id: str) -> ErrorBody:
    """What a client is told of a line's error: paths begin at the line, and the index is the line's.

    Args:
        error: which a group of lines may share, so it is left as it is.
        index: of the line in the body.
        request_id: of the stream.
    """
    body = error_body(error, request_id)
    missing = body.missing
    if missing is not UNSET:
        missing = [msgspec.structs.replace(one, index=index) for one in missing]
    # An item's own path is empty, for its parts are the line's: what concerns all of them is told of `content`.
    param = "content" if body.param == "" else body.param
    return msgspec.structs.replace(body, index=index, param=param, missing=missing)
