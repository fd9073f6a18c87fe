"""Requests that need no forward of their own: the vector of their prompt is kept, or another request's run gives it.

Requests with a kept vector are answered between two steps. Others join the first request for the same prompt, whatever
each asks of the vector. Tenants by name never share. Knows neither queues nor features.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.waiting import Waiting
from service.ipc.prompt_digest import prompt_digest
from service.ipc.reports import ResultReport
from service.outputs.ask import needs

T = TypeVar("T")

Kept = tuple[Waiting[T], bytes]
"""A request and the raw vector of its prompt."""


class Coalescing(Generic[T]):
    """Requests that wait for a prompt that is under way.

    Attributes:
        results: raw vectors of prompts that were run.
        num_joined: requests that joined another's run, since the last report.
    """

    def __init__(self, results: ResultCache) -> None:
        self.results = results
        self._under_way: dict[bytes, Waiting[T]] = {}
        self._kept: list[Kept[T]] = []
        self._num_hits = self._num_misses = self.num_joined = 0
        self._num_evictions = 0

    def spares(self, waiting: Waiting[T]) -> bool:
        """Return whether a new request needs no forward; if it does, later ones may join it.

        Suspects run alone and unshared, since they may end the engine. A request that has to be fresh is neither
        shared nor kept.
        """
        request = waiting.request
        if request.is_fresh or needs(request.asks) == "nothing":
            return False
        waiting.digest = prompt_digest(request, salt=request.tenant)
        vector = self.results.get(waiting.digest) if self.results.is_on else None
        if vector is not None:
            self._num_hits += 1
            self._kept.append((waiting, vector))
        elif request.alone:
            return False
        else:
            first = self._under_way.setdefault(waiting.digest, waiting)
            if first is waiting:
                self._num_misses += self.results.is_on
                return False
            self.num_joined += 1
            first.joined.append(waiting)
        waiting.is_spared = True
        waiting.num_hits = sum(media.dtype is None for media in request.media)
        return True

    def take_kept(self, max_requests: int) -> list[Kept[T]]:
        """Remove the oldest requests with a kept vector."""
        taken, self._kept = self._kept[:max_requests], self._kept[max_requests:]
        return taken

    def leave(self, waitings: Iterable[Waiting[T]]) -> None:
        """Let no request join these any more: they run, or are forgotten."""
        for waiting in waitings:
            if self._under_way.get(waiting.digest) is waiting:
                del self._under_way[waiting.digest]

    def keep(self, waiting: Waiting[T], vector: bytes) -> None:
        """Keep the raw vector of a prompt that was run."""
        if waiting.digest:
            self.results.put(waiting.digest, vector, waiting.request.tenant)

    def report(self) -> ResultReport:
        """Counts since the last report."""
        results = self.results
        report = ResultReport(
            num_entries=len(results.vectors),
            num_bytes=results.num_bytes,
            num_hits=self._num_hits,
            num_misses=self._num_misses,
            num_evictions=results.num_evictions - self._num_evictions,
            num_deduplicated=self.num_joined,
        )
        self._num_hits = self._num_misses = self.num_joined = 0
        self._num_evictions = results.num_evictions
        return report
