"""Requests whose prompt need not be run for them: its vector is kept, or it is under way for somebody else.

In: requests as they come. Out: those with a kept vector, to be answered between two steps; the others are run, or wait
as *twins* of the first that asked for the same prompt, whatever each wants made of the vector. Tenants by name never
share. Plain Python; knows neither queues nor pictures' features.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

from service.engine.result_cache import ResultCache
from service.engine.waiting import Waiting
from service.ipc.digest import prompt_digest
from service.ipc.messages import OutputSpec
from service.ipc.reports import ResultReport

T = TypeVar("T")

Known = tuple[Waiting[T], bytes]
"""A request and the raw vector of its prompt."""


class Twins(Generic[T]):
    """Who waits for which prompt.

    Attributes:
        results: vectors of prompts that were run.
    """

    def __init__(self, results: ResultCache) -> None:
        self.results = results
        self._under_way: dict[bytes, Waiting[T]] = {}
        self._known: list[Known[T]] = []
        self._num_hits = self._num_misses = self._num_joined = 0
        self._num_evictions = 0

    def spares(self, waiting: Waiting[T]) -> bool:
        """Whether a request that has come needs no run of its own; if it does, others may wait for that one.

        Suspects run alone and unshared, for they may take everybody along. What has to be fresh is neither shared nor
        kept.
        """
        request = waiting.request
        if request.is_fresh or not isinstance(request.output, OutputSpec):
            return False
        waiting.digest = prompt_digest(request, salt=request.tenant)
        waiting.is_spared = self._is_known(waiting) or (not request.alone and self._has_joined(waiting))
        if waiting.is_spared:
            waiting.num_hits = sum(media.dtype is None for media in request.media)
        return waiting.is_spared

    def take_known(self, max_requests: int) -> list[Known[T]]:
        """Requests to answer from kept vectors, oldest first."""
        taken, self._known = self._known[:max_requests], self._known[max_requests:]
        return taken

    def leave(self, waitings: Iterable[Waiting[T]]) -> None:
        """These are run or forgotten: nobody can join them any more."""
        for waiting in waitings:
            if self._under_way.get(waiting.digest) is waiting:
                del self._under_way[waiting.digest]

    def keep(self, waiting: Waiting[T], vector: bytes | None) -> None:
        """A prompt was run; None when its vector is not sound, and nobody shall have it again."""
        if vector is not None and waiting.digest:
            self.results.put(waiting.digest, vector, waiting.request.tenant)

    def report(self) -> ResultReport:
        """What has happened since the last report."""
        results = self.results
        report = ResultReport(
            num_entries=len(results),
            num_bytes=results.num_bytes,
            num_hits=self._num_hits,
            num_misses=self._num_misses,
            num_evictions=results.num_evictions - self._num_evictions,
            num_deduplicated=self._num_joined,
        )
        self._num_hits = self._num_misses = self._num_joined = 0
        self._num_evictions = results.num_evictions
        return report

    def _is_known(self, waiting: Waiting[T]) -> bool:
        vector = self.results.get(waiting.digest)
        if vector is None:
            return False
        self._num_hits += 1
        self._known.append((waiting, vector))
        return True

    def _has_joined(self, waiting: Waiting[T]) -> bool:
        first = self._under_way.setdefault(waiting.digest, waiting)
        if first is waiting:
            self._num_misses += self.results.is_on
            return False
        self._num_joined += 1
        first.twins.append(waiting)
        return True
