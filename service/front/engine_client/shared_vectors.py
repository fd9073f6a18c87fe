"""Final vectors that processes share, in front of whatever runs prompts.

A prompt that any of them has answered costs one question to a server, and neither decode nor queue nor model.

A host of engines around another. In: prompts. Out: their results; those whose vector the server has never reach the
inner host. What is kept is the answer's own bytes, so it is the same, bit for bit, as long as it is kept. Knows no
server: `vector_store.py` speaks to it.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from service.engine_series import ClientSeries
from service.errors import ServiceError
from service.front.engine_client.engine_host import EngineHost, HostNeeds, Keeper
from service.front.engine_client.vector_store import VectorStore
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.front.tenant import Caller
from service.ipc.messages import Ready
from service.outputs.ask import Asks, needs
from service.outputs.block import Vector
from service.prompt.prompt import Prompt

encode = msgspec.msgpack.Encoder().encode
"""No two values have the same bytes: each says its length."""


class SharedVectors:
    """An `EngineHost` that asks a store first."""

    def __init__(self, inner: EngineHost, store: VectorStore, model_part: bytes, series: ClientSeries) -> None:
        """Put `store` before `inner`; `model_part` of each name is the model's."""
        self._inner = inner
        self._store = store
        self._model_part = model_part
        self._series = series
        self._keeper: Keeper | None = None

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> Keeper:
        """The inner host's."""
        self._keeper = self._inner.keeper(known_answer)
        return self._keeper

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when the inner host may be asked: without a ready engine no shared vector is answered either."""
        self._inner.check_open(is_probe=is_probe)

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], asks: Asks, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        """Every prompt's result; see `PromptEngine.run`."""
        ready = self._keeper.ready if self._keeper else None
        if caller.wants_fresh or ready is None or needs(asks) == "nothing":
            return await self._inner.run(prepared, asks, caller, per_item=per_item)
        names = {
            index: self._name(prompt, asks, caller, ready)
            for index, prompt in prepared.items()
            if isinstance(prompt, Prompt)
        }
        known = await self._store.find(names)
        self._series.shared_vector_hits.inc(len(known))
        self._series.shared_vector_misses.inc(len(names) - len(known))
        rest = {index: one for index, one in prepared.items() if index not in known}
        fresh = await self._inner.run(rest, asks, caller, per_item=per_item) if rest else EmbedResult([], 0.0)
        results: dict[int, InputResult] = dict(zip(rest, fresh.inputs, strict=True))
        self._store.keep({names[i]: one.vector.rows for i, one in results.items() if isinstance(one, EmbeddedInput)})
        for index, rows in known.items():
            prompt = prepared[index]
            assert isinstance(prompt, Prompt)  # only prompts have names
            results[index] = EmbeddedInput(prompt, _vector(prompt, rows))
        return EmbedResult([results[index] for index in prepared], fresh.media_ms)

    def _name(self, prompt: Prompt, asks: Asks, caller: Caller, ready: Ready) -> bytes:
        """SHA-256 over what decides the answer's bytes: model, device, tenant, prompt, images, format."""
        numbers = (ready.model_digest, ready.device.partition(":")[0])
        media = [(place.item.digest, place.offset, place.length, place.grid_thw) for place in prompt.placeholders]
        parts = (self._model_part, numbers, caller.tenant.salt, prompt.plan, media, asks)
        return hashlib.sha256(encode(parts)).digest()


def _vector(prompt: Prompt, rows: dict[str, bytes]) -> Vector:
    num_hits = sum(place.item.dtype is None for place in prompt.placeholders)
    return Vector(id=0, rows=rows, num_hits=num_hits, num_misses=0, is_cached=True, queue_ms=0.0, inference_ms=0.0)


def with_shared_vectors(host: EngineHost, needs: HostNeeds) -> EngineHost:
    """The host, after a store where the settings name one that keeps vectors."""
    settings, model = needs.settings, needs.model
    wanted = settings.valkey_keeps in ("both", "vectors") and settings.result_cache_bytes > 0
    if settings.valkey_url is None or not wanted or not model.own.is_kept:
        return host
    ranges = sorted((length, encode(one)) for length, one in model.int8_ranges.items())
    store = VectorStore(settings.valkey_url, needs.series)
    store.greet()
    return SharedVectors(host, store, encode(ranges), needs.series)
