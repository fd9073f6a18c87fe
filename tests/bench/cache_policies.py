"""Hit rates of the encoder cache beside plain least recently used, on the traces of `traces.py`.

`python -m tests.bench.cache_policies` prints the table of docs/decisions/encoder-cache.md. A rate is also given by
cost: the part of the vision tower's work that was saved. Nothing is timed, so all machines give the same figures.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.encoder_cache.tier import encode_cost
from tests.bench.traces import loop, num_tokens, scan_beside_hot, shift, zipf

TOKEN_BYTES = 1024
MEAN_TOKENS = sum(map(num_tokens, range(2000))) / 2000

TRACES: dict[str, tuple[Callable[[], Iterable[int]], int]] = {
    "zipf over 10,000": (partial(zipf, 40_000, 10_000), 500),
    "zipf over 10,000, more room": (partial(zipf, 40_000, 10_000), 2000),
    "scan beside 200 hot": (partial(scan_beside_hot, 20_000, 200), 400),
    "loop over 1,000": (partial(loop, 20_000, 1000), 500),
    "loop over 1,000, more room": (partial(loop, 20_000, 1000), 900),
    "shift of 2,000": (partial(shift, 40_000, 2000), 500),
}
"""Name to a trace, and for how many images of mean size there is room."""


class Lru:
    """The cache of before: the least recently used goes first, and everything is let in."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._entries: OrderedDict[bytes, int] = OrderedDict()

    def get(self, key: bytes) -> int | None:
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: bytes, num_bytes: int, _: float) -> None:
        while self._num_bytes + num_bytes > self._max_bytes:
            self._num_bytes -= self._entries.popitem(last=False)[1]
        self._entries[key] = num_bytes
        self._num_bytes += num_bytes


class Ours:
    """The encoder cache, one tier."""

    def __init__(self, max_bytes: int) -> None:
        self._cache: EncoderCache[int] = EncoderCache(max_bytes)

    def get(self, key: bytes) -> int | None:
        return self._cache.get(key)

    def put(self, key: bytes, num_bytes: int, cost: float) -> None:
        self._cache.put(key, num_bytes, num_bytes, cost=cost)


@dataclass(frozen=True)
class Rates:
    """Hits per request, and cost saved per cost wanted."""

    hits: float
    cost: float


def rates(cache: Lru | Ours, trace: Iterable[int]) -> Rates:
    """Run a trace through a cache."""
    num_wanted = num_hits = 0
    cost_wanted = cost_saved = 0.0
    for image in trace:
        tokens, key = num_tokens(image), image.to_bytes(4, "little")
        cost = encode_cost(tokens)
        num_wanted += 1
        cost_wanted += cost
        if cache.get(key) is None:
            cache.put(key, tokens * TOKEN_BYTES, cost)
        else:
            num_hits += 1
            cost_saved += cost
    return Rates(num_hits / num_wanted, cost_saved / cost_wanted)


def both(name: str) -> tuple[Rates, Rates]:
    """Rates of least recently used and of ours on a trace."""
    trace, num_images = TRACES[name]
    max_bytes = int(num_images * MEAN_TOKENS * TOKEN_BYTES)
    return rates(Lru(max_bytes), trace()), rates(Ours(max_bytes), trace())


def main() -> None:
    """Print the table."""
    print("| trace | room for | LRU hits | ours | LRU cost saved | ours |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (_, room) in TRACES.items():
        lru, ours = both(name)
        print(f"| {name} | {room} | {lru.hits:.3f} | {ours.hits:.3f} | {lru.cost:.3f} | {ours.cost:.3f} |")


if __name__ == "__main__":
    main()
