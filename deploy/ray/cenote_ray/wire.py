"""Messages between ingress and embedder through a Serve handle.

Prompts with their compressed images, pickled by Ray, and results as msgpack, as from an engine. Errors are data, so a
client gets the same code, message and `Retry-After` as without Ray.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from schemas.errors import ErrorCode
from service.errors import DeadlineError, InputError, MediaError, ModelError, ServiceError, UnavailableError
from service.front.job import EmbeddedInput, InputResult
from service.front.tenant import Caller, Tenant
from service.media.features.features import FeaturesItem
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.prompt.prompt import Placeholder, Prompt

KINDS: dict[str, type[ServiceError]] = {
    kind.__name__: kind for kind in (InputError, MediaError, DeadlineError, ModelError, ServiceError)
}
"""Errors whose only fields are those of `ServiceError`."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Prompts of one request.

    Attributes:
        left_s: time to the deadline, since clocks of two machines differ.
        patience_s: time limit of the request, for the error's message.
        wants_fresh: cached vectors are not accepted.
    """

    prompts: Sequence[Prompt]
    asks: Asks
    tenant: Tenant
    left_s: float
    patience_s: float
    wants_fresh: bool

    @classmethod
    def of(cls, prompts: Sequence[Prompt], asks: Asks, caller: Caller) -> "Ask":
        """A message for `caller`, to be sent now."""
        left_s = caller.deadline_s - time.monotonic()
        sent = [_each_features(prompt, bytes) for prompt in prompts]
        return cls(sent, asks, caller.tenant, left_s, caller.patience_s, caller.wants_fresh)

    def caller(self) -> Caller:
        """The caller, on this machine's clock."""
        return Caller(self.tenant, time.monotonic() + self.left_s, self.patience_s, self.wants_fresh)

    def read(self) -> list[Prompt]:
        """The prompts in the front's form."""
        return [_each_features(prompt, memoryview) for prompt in self.prompts]


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A `ServiceError` as data."""

    kind: str
    """Class of the error; see `KINDS`."""
    code: ErrorCode
    message: str
    param: str | None = None
    index: int | None = None
    retry_after_s: float | None = None

    @classmethod
    def of(cls, error: ServiceError) -> "Failed":
        """An error as data."""
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
        """The error as an exception."""
        if self.retry_after_s is not None:
            return UnavailableError(self.code, self.message, retry_after_s=self.retry_after_s)
        return KINDS[self.kind](self.code, self.message, param=self.param, index=self.index)


class VectorTold(msgspec.Struct, frozen=True, tag=True):
    """One input's vector."""

    vector: Vector


class Told(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Outcomes of the prompts, in order, and the time of reading their images, in ms."""

    ends: list[VectorTold | Failed]
    media_ms: float


_DECODER = msgspec.msgpack.Decoder(Told | Failed)


def told(results: Sequence[InputResult], media_ms: float) -> bytes:
    """An embedder's answer."""
    ends = [Failed.of(one) if isinstance(one, ServiceError) else VectorTold(one.vector) for one in results]
    return msgspec.msgpack.encode(Told(ends=ends, media_ms=media_ms))


def refused(error: ServiceError) -> bytes:
    """The answer of an embedder that cannot take the prompts."""
    return msgspec.msgpack.encode(Failed.of(error))


def read_answer(answer: bytes, prompts: Sequence[Prompt], indices: Sequence[int]) -> tuple[list[InputResult], float]:
    """The results of an answer, and the time of reading images in ms; errors name the inputs `indices`.

    Raises:
        ServiceError: the embedder could not take the prompts.
    """
    read = _DECODER.decode(answer)
    if isinstance(read, Failed):
        raise read.error()
    return [_result(*one) for one in zip(read.ends, prompts, indices, strict=True)], read.media_ms


def _result(end: VectorTold | Failed, prompt: Prompt, index: int) -> InputResult:
    if isinstance(end, VectorTold):
        return EmbeddedInput(prompt, end.vector)
    error = end.error()
    error.index = index
    return error


def _each_features(prompt: Prompt, form: type[bytes] | type[memoryview]) -> Prompt:
    """The prompt with features as `bytes`, which can be pickled, or `memoryview`, as in the front."""
    if not any(isinstance(place.item, FeaturesItem) for place in prompt.placeholders):
        return prompt
    return msgspec.structs.replace(prompt, placeholders=tuple(_features(place, form) for place in prompt.placeholders))


def _features(place: Placeholder, form: type[bytes] | type[memoryview]) -> Placeholder:
    if not isinstance(place.item, FeaturesItem):
        return place
    return replace(place, item=replace(place.item, data=form(place.item.data)))  # type: ignore[arg-type]  # bytes in transit
