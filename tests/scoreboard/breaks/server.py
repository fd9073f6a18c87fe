"""Breaks of front and engine: what is accepted, who waits, what is answered, and what is given back."""

import hmac
import json
import logging
import os
import sys
from typing import Any

from tests.scoreboard.breaks.ways import Break, Proxy, around, changed, gives, nothing, put, then, values

KEPT: list[Any] = []
"""Slots that are never given back."""


def _kept_by_who_fails(leave: Any) -> Any:
    def left(self: Any, kind: object, *rest: object) -> Any:
        if kind is not None:
            self.held = type(self.held)()
        return leave(self, kind, *rest)

    return left


def _unbounded_answers(module: Any) -> None:
    def take_answer(self: Any, num_bytes: int, tenant: Any) -> Any:
        lease = module.AnswerLease(self, tenant)
        lease.keep(num_bytes)
        return lease

    put(module, "Budget.take_answer", take_answer)


def _unchecked(count: Any) -> Any:
    return lambda self, tenant, more, sign=1, checked=(): count(self, tenant, more, sign)


def _first_match(module: Any) -> None:
    def find(self: Any, key: bytes) -> Any:
        digest = module.hash_key(key)
        return next((one for one in self._known if hmac.compare_digest(digest, one.digest)), None)

    put(module, "Keyring.find", find)


class _Beginnings(frozenset[str]):
    def __contains__(self, path: object) -> bool:
        return str(path).startswith(tuple(self))


def _open_beginnings(module: Any) -> None:
    module.OPEN_PATHS = _Beginnings(module.OPEN_PATHS)


def _open_document(module: Any) -> None:
    module.OPEN_PATHS |= {"/openapi.json"}


def _failing_lines(*_: object) -> None:
    for handler in logging.getLogger().handlers:
        handler.handleError = lambda record: sys.exit(1)  # type: ignore[method-assign]


def _other_status(module: Any) -> None:
    module.CODES[418] = module.CODES.pop(413)


def _allowing(old: str, new: str) -> Any:
    def change(module: Any) -> None:
        read = module.tomllib.loads
        module.tomllib = Proxy(module.tomllib, loads=lambda text: read(text.replace(old, new)))

    return change


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


def _uncaught(*kinds: type[Exception]) -> Any:
    def made(decoder_of: Any) -> Any:
        def broken(wanted: Any) -> Any:
            decode = decoder_of(wanted).decode

            def decoded(raw: bytes) -> Any:
                try:
                    return decode(raw)
                except kinds as error:
                    raise RuntimeError("broken") from error

            return Proxy(decoder_of(wanted), decode=decoded)

        return broken

    return around("_decoder", made)


def _told_query(account: Any) -> Any:
    def told(self: Any, *given: Any) -> Any:
        self.context.log_fields["query"] = self.scope["path"]
        return account(self, *given)

    return told


def _never_waits(original: Any) -> Any:
    async def enter(self: Any, load: Any) -> None:
        self._under_way.add(load)
        self._place.hold(load.num_bytes)

    assert original
    return enter


def _asserted_kind(original: Any) -> Any:
    def check(request: Any, media_type: str) -> None:
        assert request.headers["content-type"] == "application/json"

    assert original
    return check


def _slow_bodies(read: Any) -> Any:
    def patient(request: Any, serving: Any, *rest: Any) -> Any:
        return read(request, Proxy(serving, settings=Proxy(serving.settings, min_bytes_per_s=1e-9)), *rest)

    return patient


def _no_lame_duck(handle: Any) -> Any:
    def at_once(self: Any, *given: Any) -> None:
        self._lame_duck_s = 0.0
        handle(self, *given)

    return at_once


def _by_sum(embed: Any) -> Any:
    """Features are dealt out by the batch's sum: one image's may be another's."""

    def dealt(self: Any, batch: Any) -> Any:
        import torch

        found = [one for waiting in batch for one in waiting.features]
        sizes = [media.num_tokens for waiting in batch for media in waiting.request.media]
        if not found or any(one is None for one in found) or sum(map(len, found)) != sum(sizes):
            return embed(self, batch)
        parts, before = iter(torch.cat(found).split(sizes)), [waiting.features for waiting in batch]
        try:
            for waiting in batch:
                waiting.features = [next(parts) for _ in waiting.features]
            return embed(self, batch)
        finally:
            for waiting, features in zip(batch, before, strict=True):
                waiting.features = features

    return dealt


def _one_group(module: Any) -> None:
    attend, group = module.attend, module.Group

    def together(query: Any, key: Any, value: Any, groups: Any, *rest: Any, **named: Any) -> Any:
        return attend(query, key, value, (group(0, 0, len(query), 1, len(query)),), *rest, **named)

    module.attend = together


def _numpy(**functions: Any) -> Any:
    def change(module: Any) -> None:
        module.np = Proxy(module.np, **functions)

    return change


def _not_unique(rows: Any, **_: Any) -> Any:
    return rows, range(len(rows))


def _not_again(module: Any) -> None:
    last_try = module.Isolation._last_try

    def given_up(self: Any, waiting: Any, *, had_memory: bool) -> Any:
        if had_memory:
            return last_try(self, waiting, had_memory=had_memory)
        return module._all_failed([waiting], module.NO_MEMORY, "out_of_memory")

    module.Isolation._last_try = given_up


def _no_halves(*error: str) -> Any:
    def change(module: Any) -> None:
        embed = module.Isolation.embed

        def whole(self: Any, batch: Any) -> Any:
            if getattr(self, "is_half", False):
                return module._all_failed(batch, *(error or (module.INTERNAL,)))
            self.is_half = True
            try:
                return embed(self, batch)
            finally:
                self.is_half = False

        module.Isolation.embed = whole

    return change


def _other_documents(steps: Any) -> Any:
    def turned(model: Any, asked: Any, inputs: Any) -> Any:
        num = len(asked.documents.items)
        return steps(model, asked, [*reversed(inputs[:num]), *inputs[num:]])

    return turned


def _as_document(place: Any) -> Any:
    return lambda error, asked: place(error, changed(asked, queries=changed(asked.queries, name=asked.documents.name)))


CONNECTION, CLIENT, LOG = "service.http.server.connection", "service.front.engine_client.client", "service.logs"
ACCESS, GUARD, DECODE = "service.http.middleware.access_log", "service.http.middleware.guard", "schemas.parsing.decode"
RUNNER, ISOLATION = "service.engine.execution.runner", "service.engine.execution.isolation"
SCORES, SERVER, THREADS = "service.front.scoring.scores", "service.http.server.server", "service.fairness.threads"
PLACES, DEPENDENCIES = "service.http.server.places", "tests.scoreboard.lines.dependencies"
BUDGET = "service.front.admission.budget"
BREAKS = (
    Break("aborts", "a hang-up cancels nothing", CONNECTION, nothing("Connection._cancel_request"), 300),
    Break(
        "aborts",
        "a place in the queue is not given back to who leaves by an error",
        BUDGET,
        around("TimedLease.__exit__", _kept_by_who_fails),
        200,
    ),
    Break("aborts", "the engine is not told of the abandoned", CLIENT, nothing("EngineClient.abandon"), 300),
    Break("auth", "the comparison stops at the first match", "service.front.admission.api_keys", _first_match, 50_000),
    Break("auth", "paths that begin as an open one are open", GUARD, _open_beginnings, 2_000),
    Break("auth", "the document is open", GUARD, _open_document, 2_000),
    Break("bad_host", "a log line that cannot be written is an error", LOG, then("configure", _failing_lines), 1),
    Break("chunk_floods", "chunks have no turns", "service.http.server.pacing", gives("ChunkTurns.take", True), 8),
    Break("chunk_floods", "lines have no turns", "service.http.stream.items", values(SLICE_LINES=1 << 20), 8),
    Break("contract_fuzz", "a status that the document does not have", "service.statuses", _other_status, 200),
    Break("dependencies", "an old Pillow is allowed", DEPENDENCIES, _allowing("pillow>=13", "pillow>=11"), 1),
    Break("dependencies", "Litestar has no floor", DEPENDENCIES, _allowing("litestar>=2.25,<3", "litestar<3"), 1),
    Break(
        "engine_hangs",
        "silence is not counted",
        "service.front.hub.watchdog",
        gives("Watchdog.tick", False),
        1,
    ),
    Break(
        "engine_kills",
        "an engine that was ready is replaced late",
        "service.front.hub.engine_keeper",
        values(MIN_BACKOFF_S=5.0),
        2,
    ),
    Break(
        "engine_kills",
        "answers go to whoever waits longest",
        CLIENT,
        then("EngineClient.__init__", lambda self, *_: setattr(self, "_pending", _Longest(self._pending))),
        1,
    ),
    Break(
        "fairness_before_engine",
        "decoders and threads serve first come, first served",
        "service.fairness.room",
        _one_party,
        3,
    ),
    Break(
        "fairness_before_engine",
        "a request's texts are tokenized in one go, however many, and small ones wait for that",
        THREADS,
        around("FairThreads.run_steps", _in_one_go),
        3,
    ),
    Break(
        "fairness_before_engine",
        "work in an extra seat may stay there",
        "service.fairness.room",
        gives("FairRoom.hurry", True),
        3,
    ),
    Break("json_mutants", "bytes that are not UTF-8 are not caught", DECODE, _uncaught(UnicodeDecodeError), 20_000),
    Break("json_mutants", "nesting is not caught", DECODE, _uncaught(RecursionError), 80_000),
    Break(
        "json_mutants",
        "the decoder's own words are told",
        DECODE,
        around("_what", lambda _: lambda error, raw: repr(type(error))),
        5_000,
    ),
    Break(
        "logs",
        "lines are not JSON",
        LOG,
        around("JsonFormatter.format", lambda line: lambda self, record: str(json.loads(line(self, record)))),
        5,
    ),
    Break("logs", "the line of a request tells its query", ACCESS, around("LoggedRequest.account", _told_query), 20),
    Break(
        "logs",
        "a failure is told with its objects",
        ACCESS,
        then("LoggedRequest.account", lambda *_: logging.getLogger("cenote.broken").info(str(object()))),
        5,
    ),
    Break("long_max_sim", "vectors are compared on the event loop", SCORES, values(MAX_CHARS_ON_LOOP=1 << 40), 5),
    Break(
        "long_max_sim",
        "a comparison cannot be interrupted",
        THREADS,
        around("FairThreads.run_steps", _in_one_go),
        5,
    ),
    Break(
        "long_stream",
        "a stream reads as fast as it can",
        "service.front.admission.stream_bounds",
        around("StreamWindow.enter", _never_waits),
        60_000,
    ),
    Break(
        "long_stream",
        "each group of lines leaves a little behind",
        "service.front.admission.stream_bounds",
        then("StreamWindow.leave", lambda *_: KEPT.append(bytearray(1 << 17))),
        20_000,
    ),
    Break(
        "long_stream",
        "lines do not outlast an engine",
        "service.front.serving.embedder",
        values(PASSING=frozenset({"overloaded", "rate_limit_exceeded"})),
        2_000,
    ),
    Break(
        "mixed_batches",
        "features are only checked as a batch's sum",
        RUNNER,
        around("ModelRunner.embed", _by_sum),
        100,
    ),
    Break("mixed_batches", "requests attend to each other", "service.model.packed.attention", _one_group, 100),
    Break(
        "mixed_batches",
        "images of one size are taken for one another where prompts begin alike",
        "service.engine.execution.image_numbers",
        around("ImageNumbers.add", lambda add: lambda self, media, features: add(self, media, KEPT)),
        100,
    ),
    Break(
        "mixed_batches",
        "DeepStack's levels are added once for each prompt that shares an image",
        "service.model.qwen3_vl.language",
        _numpy(unique=_not_unique),
        100,
    ),
    Break(
        "mixed_batches",
        "placeholders in a text without images pass",
        RUNNER,
        around(
            "ModelRunner._check_placeholders",
            lambda check: lambda self, request: check(self, request) if request.media else None,
        ),
        100,
    ),
    Break("mixed_batches", "placeholders without an image pass", RUNNER, _numpy(array_equal=lambda *_: True), 100),
    Break(
        "one_address",
        "no peer has a share",
        "service.http.server.peers",
        around("PeerRule.arrival", lambda of: lambda self, *one: of(changed(self, max_of_peer=1 << 30), *one)),
        5_000,
    ),
    Break(
        "one_address", "nobody makes way", "service.http.server.places", gives("Places._first_makes_way", False), 3_000
    ),
    Break("out_of_memory", "a single input is not tried again", ISOLATION, _not_again, 20),
    Break(
        "out_of_memory", "a batch without memory is not split", ISOLATION, _no_halves("no memory", "out_of_memory"), 20
    ),
    Break("overload", "nothing is ever refused", BUDGET, around("Budget.count", _unchecked), 8),
    Break(
        "overload",
        "a refusal does not say when to come back",
        "service.http.errors",
        around("retry_headers", lambda of: lambda error: {"retry-after-ms": of(error)["retry-after-ms"]}),
        3,
    ),
    Break("poison_batches", "a batch fails as a whole", ISOLATION, _no_halves(), 50),
    Break(
        "poison_batches",
        "who shares rows with a poison is not run again",
        ISOLATION,
        around("Isolation._run_again_alone", lambda _: lambda self, batch, results: results),
        50,
    ),
    Break(
        "poison_batches",
        "vectors are sent unchecked",
        "cenote_kernels.epilogue",
        around("_made", lambda made: lambda *given: (made(*given)[0], [True] * len(given[0]))),
        50,
    ),
    Break(
        "poisoned_pairs",
        "what ended the engine is never refused",
        "service.front.engine_client.suspects",
        values(MAX_FAILED_RUNS=3_000),
        1,
    ),
    Break("poisoned_pairs", "a query that fails is named as a document", SCORES, around("_place", _as_document), 2),
    Break("raw_sockets", "no timer for heads", CONNECTION, nothing("Connection._watch_reading"), 1_500),
    Break(
        "raw_sockets",
        "a media type is not looked at, and its fault is not caught",
        "service.http.body",
        around("check_kind", _asserted_kind),
        1_500,
    ),
    Break(
        "rerank_fairness",
        "in the engine a tenant's requests are served first come, first served",
        "service.fairness.fair_queue",
        around("QueuedBundle", lambda queued: lambda tag, *rest: queued(0 * tag, *rest)),
        8,
    ),
    Break(
        "rerank_fairness",
        "scores are in another order than their documents",
        SCORES,
        around("_steps", _other_documents),
        2,
    ),
    Break("sigterm", "the listener closes at once", SERVER, around("DrainingServer.handle_exit", _no_lame_duck), 2),
    Break(
        "sigterm",
        "accepted requests are given up when the listener closes",
        SERVER,
        then("DrainingServer.__init__", lambda self, *_: setattr(self, "_drain_timeout_s", 0.0)),
        2,
    ),
    Break("slow_clients", "bodies have all the time they want", "service.http.body", around("_read", _slow_bodies), 80),
    Break("slow_clients", "heads have all the time they want", CONNECTION, nothing("Connection._watch_reading"), 80),
    Break("slow_clients", "answers may wait indefinitely", CONNECTION, nothing("Connection._check_writing"), 80),
    Break(
        "slow_readers",
        "what was taken does not count",
        "service.http.server.pacing",
        around("SlowReader.wait_s", lambda of: lambda self, now_s, num_read, num_sent: of(self, now_s, 0, num_sent)),
        25,
    ),
    Break("slow_readers", "the system keeps megabytes unsent", CONNECTION, values(MAX_UNSENT_BYTES=1 << 30), 12),
    Break("slow_readers", "answers have no bound", BUDGET, _unbounded_answers, 12),
    Break(
        "soak",
        "every request leaves a little behind",
        ACCESS,
        then("LoggedRequest.account", lambda *_: KEPT.append(bytearray(4096))),
        60,
    ),
    Break(
        "soak",
        "connections are not given back",
        CONNECTION,
        then("Connection.connection_lost", lambda *_: KEPT.append(os.dup(2))),
        20,
    ),
    Break(
        "special_tokens",
        "texts are parsed for special tokens",
        "service.prompt.tokenizer.tokenizer",
        around("PromptTokenizer.encode", lambda of: lambda self, text, **_: of(self, text, parse_special=True)),
        100,
    ),
    Break(
        "special_tokens",
        "cut texts keep one token too many",
        "service.prompt.prompt_buffer",
        then("PromptBuffer.truncate", lambda self, *_: self.token_ids.append(self.token_ids[-1])),
        200,
    ),
)
