"""Breaks of what is accepted over HTTP, from whom, and in which time; of logs and of what is installed."""

import hmac
import json
import logging
import os
import sys
from typing import Any

from tests.scoreboard.breaks.ways import Break, Proxy, around, changed, gives, nothing, put, then, values

KEPT: list[Any] = []
"""What is never given back."""


def _unchecked_answer(take_answer: Any) -> Any:
    return lambda self, num_bytes, tenant, **_: take_answer(self, num_bytes, tenant, is_checked=False)


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
        handler.handleError = lambda record: sys.exit(1)


def _other_status(module: Any) -> None:
    module.CODES[418] = module.CODES.pop(413)


def _allowing(old: str, new: str) -> Any:
    def change(module: Any) -> None:
        read = module.tomllib.loads
        module.tomllib = Proxy(module.tomllib, loads=lambda text: read(text.replace(old, new)))

    return change


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


CONNECTION = "service.http.server.connection"
LOG = "service.logs"
ACCESS = "service.http.middleware.access_log"
GUARD = "service.http.middleware.guard"
DECODE = "schemas.parsing.decode"
SERVER = "service.http.server.server"
DEPENDENCIES = "tests.scoreboard.lines.dependencies"
BUDGET = "service.front.admission.budget"
BREAKS = {
    "auth": (
        Break("the comparison stops at the first match", 50_000, "service.front.admission.api_keys", _first_match),
        Break("paths that begin as an open one are open", 2_000, GUARD, _open_beginnings),
        Break("the document is open", 2_000, GUARD, _open_document),
    ),
    "bad_host": (Break("a log line that cannot be written is an error", 1, LOG, then("configure", _failing_lines)),),
    "chunk_floods": (
        Break("chunks have no turns", 8, "service.http.server.pacing", gives("ChunkTurns.take", True)),
        Break("lines have no turns", 8, "service.http.stream.items", values(SLICE_LINES=1 << 20)),
    ),
    "contract_fuzz": (Break("a status that the document does not have", 200, "service.statuses", _other_status),),
    "dependencies": (
        Break("an old Pillow is allowed", 1, DEPENDENCIES, _allowing("pillow>=13", "pillow>=11")),
        Break("Litestar has no floor", 1, DEPENDENCIES, _allowing("litestar>=2.25,<3", "litestar<3")),
    ),
    "json_mutants": (
        Break("bytes that are not UTF-8 are not caught", 20_000, DECODE, _uncaught(UnicodeDecodeError)),
        Break("nesting is not caught", 80_000, DECODE, _uncaught(RecursionError)),
        Break(
            "the decoder's own words are told",
            5_000,
            DECODE,
            around("_what", lambda _: lambda error, raw: repr(type(error))),
        ),
    ),
    "logs": (
        Break(
            "lines are not JSON",
            5,
            LOG,
            around("JsonFormatter.format", lambda line: lambda self, record: str(json.loads(line(self, record)))),
        ),
        Break("the line of a request tells its query", 20, ACCESS, around("LoggedRequest.account", _told_query)),
        Break(
            "a failure is told with its objects",
            5,
            ACCESS,
            then("LoggedRequest.account", lambda *_: logging.getLogger("cenote.broken").info(str(object()))),
        ),
    ),
    "one_address": (
        Break(
            "no peer has a share",
            5_000,
            "service.http.server.peers",
            around("PeerRule.arrival", lambda of: lambda self, *one: of(changed(self, max_of_peer=1 << 30), *one)),
        ),
        Break("nobody makes way", 3_000, "service.http.server.places", gives("Places._first_makes_way", False)),
    ),
    "raw_sockets": (
        Break("no timer for heads", 1_500, CONNECTION, nothing("Connection._watch_reading")),
        Break(
            "a media type is not looked at, and its fault is not caught",
            1_500,
            "service.http.request",
            around("check_kind", _asserted_kind),
        ),
    ),
    "sigterm": (
        Break("the listener closes at once", 2, SERVER, around("DrainingServer.handle_exit", _no_lame_duck)),
        Break(
            "accepted requests are given up when the listener closes",
            2,
            SERVER,
            then("DrainingServer.__init__", lambda self, *_: setattr(self, "_drain_timeout_s", 0.0)),
        ),
    ),
    "slow_clients": (
        Break("bodies have all the time they want", 80, "service.http.request", around("_read", _slow_bodies)),
        Break("heads have all the time they want", 80, CONNECTION, nothing("Connection._watch_reading")),
        Break("answers may wait indefinitely", 80, CONNECTION, nothing("Connection._check_writing")),
    ),
    "slow_readers": (
        Break(
            "what was taken does not count",
            25,
            "service.http.server.pacing",
            around(
                "SlowReader.wait_s", lambda of: lambda self, now_s, num_read, num_sent: of(self, now_s, 0, num_sent)
            ),
        ),
        Break("the system keeps megabytes unsent", 12, CONNECTION, values(MAX_UNSENT_BYTES=1 << 30)),
        Break("answers have no bound", 12, BUDGET, around("Budget.take_answer", _unchecked_answer)),
    ),
    "soak": (
        Break(
            "every request leaves a little behind",
            60,
            ACCESS,
            then("LoggedRequest.account", lambda *_: KEPT.append(bytearray(4096))),
        ),
        Break(
            "connections are not given back",
            20,
            CONNECTION,
            then("Connection.connection_lost", lambda *_: KEPT.append(os.dup(2))),
        ),
    ),
}
