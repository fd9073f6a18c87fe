"""Breaks of the front: who waits for whom, what is answered and given back, and what outlasts an engine."""

import sys
from typing import Any

from tests.scoreboard.breaks.ways import Break, Proxy, around, changed, gives, nothing, then, values

KEPT: list[Any] = []
"""What is never given back."""


def _kept_by_who_fails(leave: Any) -> Any:
    def left(self: Any, kind: object, *rest: object) -> Any:
        if kind is not None:
            self.held = type(self.held)()
        return leave(self, kind, *rest)

    return left


def _unchecked(count: Any) -> Any:
    return lambda self, tenant, more, sign=1, checked=(): count(self, tenant, more, sign)


class _Longest(dict[int, Any]):
    """Whoever waits longest is taken out."""

    def pop(self, key: int, *default: Any) -> Any:
        return super().pop(next(iter(self), key), *default)


def _one_party(module: Any) -> None:
    take, party = module.FairRoom.take, module.CURRENT_PARTY
    nobody = party.get()
    module.CURRENT_PARTY = Proxy(party, get=lambda: type(nobody)("", 0))
    module.FairRoom.take = lambda self, cost, *, num_bytes=0, size: take(self, 1, num_bytes=num_bytes, size="large")


def _in_one_go(original: Any) -> Any:
    def at_once(steps: Any) -> Any:
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    async def run_steps(self: Any, steps: Any, size: int, **_: Any) -> Any:
        return await self.run(lambda: at_once(steps), sys.maxsize)

    assert original
    return run_steps


def _never_waits(original: Any) -> Any:
    async def enter(self: Any, load: Any) -> None:
        self._under_way.add(load)
        self._place.hold(load.num_bytes)

    assert original
    return enter


def _other_documents(steps: Any) -> Any:
    def turned(model: Any, asked: Any, inputs: Any) -> Any:
        num = len(asked.documents.items)
        return steps(model, asked, [*reversed(inputs[:num]), *inputs[num:]])

    return turned


def _as_document(place: Any) -> Any:
    return lambda error, asked: place(error, changed(asked, queries=changed(asked.queries, name=asked.documents.name)))


CONNECTION = "service.http.server.connection"
CLIENT = "service.front.engine_client.client"
SCORES = "service.front.scoring.scores"
THREADS = "service.fairness.threads"
BUDGET = "service.front.admission.budget"
BREAKS = {
    "aborts": (
        Break("a hang-up cancels nothing", 300, CONNECTION, nothing("Connection._cancel_request")),
        Break(
            "a place in the queue is not given back to who leaves by an error",
            200,
            BUDGET,
            around("TimedLease.__exit__", _kept_by_who_fails),
        ),
        Break("the engine is not told of the abandoned", 300, CLIENT, nothing("EngineClient.abandon")),
    ),
    "engine_hangs": (Break("silence is not counted", 1, "service.front.hub.watchdog", gives("Watchdog.tick", False)),),
    "engine_kills": (
        Break(
            "an engine that was ready is replaced late", 2, "service.front.hub.engine_keeper", values(MIN_BACKOFF_S=5.0)
        ),
        Break(
            "answers go to whoever waits longest",
            1,
            CLIENT,
            then("EngineClient.__init__", lambda self, *_: setattr(self, "_pending", _Longest(self._pending))),
        ),
    ),
    "fairness_before_engine": (
        Break("decoders and threads serve first come, first served", 3, "service.fairness.room", _one_party),
        Break(
            "a request's texts are tokenized in one go, however many, and small ones wait for that",
            3,
            THREADS,
            around("FairThreads.run_steps", _in_one_go),
        ),
        Break("work in an extra seat may stay there", 3, "service.fairness.room", gives("FairRoom.hurry", True)),
    ),
    "long_max_sim": (
        Break("vectors are compared on the event loop", 5, SCORES, values(MAX_CHARS_ON_LOOP=1 << 40)),
        Break("a comparison cannot be interrupted", 5, THREADS, around("FairThreads.run_steps", _in_one_go)),
    ),
    "long_stream": (
        Break(
            "a stream reads as fast as it can",
            60_000,
            "service.front.admission.stream_bounds",
            around("StreamWindow.enter", _never_waits),
        ),
        Break(
            "each group of lines leaves a little behind",
            20_000,
            "service.front.admission.stream_bounds",
            then("StreamWindow.leave", lambda *_: KEPT.append(bytearray(1 << 17))),
        ),
        Break(
            "lines do not outlast an engine",
            2_000,
            "service.front.serving.embedder",
            values(PASSING=frozenset({"overloaded", "rate_limit_exceeded"})),
        ),
    ),
    "overload": (
        Break("nothing is ever refused", 8, BUDGET, around("Budget.count", _unchecked)),
        Break(
            "a refusal does not say when to come back",
            3,
            "service.http.errors",
            around("retry_headers", lambda of: lambda error: {"retry-after-ms": of(error)["retry-after-ms"]}),
        ),
    ),
    "poisoned_pairs": (
        Break(
            "what ended the engine is never refused",
            1,
            "service.front.engine_client.suspects",
            values(MAX_FAILED_RUNS=3_000),
        ),
        Break("a query that fails is named as a document", 2, SCORES, around("_place", _as_document)),
    ),
    "rerank_fairness": (
        Break(
            "in the engine a tenant's requests are served first come, first served",
            8,
            "service.fairness.fair_queue",
            around("QueuedBundle", lambda queued: lambda tag, *rest: queued(0 * tag, *rest)),
        ),
        Break("scores are in another order than their documents", 2, SCORES, around("_steps", _other_documents)),
    ),
    "special_tokens": (
        Break(
            "texts are parsed for special tokens",
            100,
            "service.prompt.tokenizer.tokenizer",
            around("PromptTokenizer.encode", lambda of: lambda self, text, **_: of(self, text, parse_special=True)),
        ),
        Break(
            "cut texts keep one token too many",
            200,
            "service.prompt.build",
            then("PromptBuffer.truncate", lambda self, *_: self.token_ids.append(self.token_ids[-1])),
        ),
    ),
}
