"""What ingress and embedder say to each other through a Serve handle.

There: prompts with their pictures as they were sent, compressed; Ray pickles them. Back: msgpack, as from an engine.
Errors cross as data, so that a client gets the code, the words and the `Retry-After` that it would get without Ray.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from schemas.errors import ErrorCode
from service.errors import DeadlineError, InputError, MediaError, ModelError, ServiceError, UnavailableError
from service.front.job import Answered, Outcome
from service.front.tenant import Caller, Tenant
from service.ipc.messages import Vector, Wanted
from service.media.features import FeaturesItem
from service.prompt.prompt import Placeholder, Prompt

KINDS: dict[str, type[ServiceError]] = {
    kind.__name__: kind for kind in (InputError, MediaError, DeadlineError, ModelError, ServiceError)
}
"""Errors that are made of nothing but what `ServiceError` has."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Some prompts of one request.

    Attributes:
        prompts: what to embed.
        output: what is wanted of each.
        tenant: whose they are.
        left_s: how long somebody waits: clocks of two machines have nothing in common.
        patience_s: how long that was when the request came, for the error that says so.
        wants_fresh: what an engine knows already is no answer.
    """

    prompts: Sequence[Prompt]
    output: Wanted
    tenant: Tenant
    left_s: float
    patience_s: float
    wants_fresh: bool

    @classmethod
    def of(cls, prompts: Sequence[Prompt], output: Wanted, caller: Caller) -> "Ask":
        """What `caller` wants, to be sent now."""
        left_s = caller.deadline_s - time.monotonic()
        sent = [_each_features(prompt, bytes) for prompt in prompts]
        return cls(sent, output, caller.tenant, left_s, caller.patience_s, caller.wants_fresh)

    def caller(self) -> Caller:
        """Who wants it, on this machine's clock."""
        return Caller(self.tenant, time.monotonic() + self.left_s, self.patience_s, self.wants_fresh)

    def read(self) -> list[Prompt]:
        """The prompts as the front has them."""
        return [_each_features(prompt, memoryview) for prompt in self.prompts]


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An error of ours, as data."""

    kind: str
    """Its class; see `KINDS`."""
    code: ErrorCode
    message: str
    param: str | None = None
    index: int | None = None
    retry_after_s: float | None = None

    @classmethod
    def of(cls, error: ServiceError) -> "Failed":
        """What is to be known of an error."""
        kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in (*KINDS, "UnavailableError"))
        wait_s = error.retry_after_s if isinstance(error, UnavailableError) else None
        return cls(
            kind=kind,
            code=error.code,
            message=error.message,
            param=error.param,
            index=error.index,
            retry_after_s=wait_s,
        )

    def error(self) -> ServiceError:
        """The error again."""
        if self.retry_after_s is not None:
            return UnavailableError(self.code, self.message, retry_after_s=self.retry_after_s)
        return KINDS[self.kind](self.code, self.message, param=self.param, index=self.index)


class VectorTold(msgspec.Struct, frozen=True, tag=True):
    """One input's vector."""

    vector: Vector


class Told(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What became of the prompts, in order, and how long their pictures took to read, in ms."""

    ends: list[VectorTold | Failed]
    media_ms: float


_DECODER = msgspec.msgpack.Decoder(Told | Failed)


def told(outcomes: Sequence[Outcome], media_ms: float) -> bytes:
    """What an embedder answers."""
    ends = [Failed.of(one) if isinstance(one, ServiceError) else VectorTold(one.vector) for one in outcomes]
    return msgspec.msgpack.encode(Told(ends=ends, media_ms=media_ms))


def refused(error: ServiceError) -> bytes:
    """What an embedder answers that cannot take the prompts at all."""
    return msgspec.msgpack.encode(Failed.of(error))


def hear(answer: bytes, prompts: Sequence[Prompt], indices: Sequence[int]) -> tuple[list[Outcome], float]:
    """The outcomes in an answer, and the milliseconds that pictures took.

    Args:
        answer: of `told` or `refused`.
        prompts: what was asked.
        indices: which inputs of the request they are; errors name those.

    Raises:
        ServiceError: the embedder could not take them.
    """
    heard = _DECODER.decode(answer)
    if isinstance(heard, Failed):
        raise heard.error()
    return [_outcome(*one) for one in zip(heard.ends, prompts, indices, strict=True)], heard.media_ms


def _outcome(end: VectorTold | Failed, prompt: Prompt, index: int) -> Outcome:
    if isinstance(end, VectorTold):
        return Answered(prompt, end.vector)
    error = end.error()
    error.index = index
    return error


def _each_features(prompt: Prompt, form: type[bytes] | type[memoryview]) -> Prompt:
    """The prompt with features in a form that can be pickled, or in the front's own."""
    if not any(isinstance(place.item, FeaturesItem) for place in prompt.placeholders):
        return prompt
    return replace(prompt, placeholders=tuple(_features(place, form) for place in prompt.placeholders))


def _features(place: Placeholder, form: type[bytes] | type[memoryview]) -> Placeholder:
    if not isinstance(place.item, FeaturesItem):
        return place
    return replace(place, item=replace(place.item, data=form(place.item.data)))  # type: ignore[arg-type]  # bytes on their way
