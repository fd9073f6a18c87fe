"""`/v1/embeddings/stream` through the live server: order, errors, back-pressure, and every way in which it may end.

One server for the file, with keys and small bounds; the last test tells it to go.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from service.front.admission.key_file import hash_key
from tests.conftest import CHECKPOINT, LiveServer, from_base64, image, image_part, text_part, until
from tests.faults.server import faulty_environ, slowed
from tests.scoreboard.vitals import processes_of
from tests.stream_client import StreamClient, exchange

NUM_LINES = 128
"""Lines of a stream under way at once."""
MAX_LINE_BYTES = 1 << 18
IDLE_S, LINE_S = 1.5, 1.0
FLAGS = {
    "--model": str(CHECKPOINT),
    "--max-stream-lines": str(NUM_LINES),
    "--max-body-bytes": str(MAX_LINE_BYTES),
    "--stream-idle-s": str(IDLE_S),
    "--receive-timeout-s": str(LINE_S / 1.5),
    "--known-answer-s": "600",
    "--log-format": "json",
}
KEYS = {"acme-key": "acme", "other-key": "other"}
BEARER = "authorization: Bearer acme-key"
RED, BLUE = "Represent the colors of the image.", "Represent the shapes of the image."


@dataclass
class Streaming:
    """The server of this file.

    Attributes:
        server: it.
        keys: its file of keys.
        faults: where its engine is told what to do wrong.
    """

    server: LiveServer
    keys: Path
    faults: Path

    def open(self, query: str = "", key: str = BEARER, **given: Any) -> StreamClient:
        return StreamClient(self.server, query, key, **given)

    def write_keys(self, *names: str) -> None:
        rows = [{"tenant": KEYS[name], "sha256": hash_key(name.encode()).hex()} for name in names]
        fresh = self.keys.with_suffix(".new")
        fresh.write_text("".join(json.dumps(row) + "\n" for row in rows))
        fresh.rename(self.keys)

    def num_lines(self) -> int:
        """Lines that were answered so far, by all streams."""
        text = self.server.http.get("/metrics").text.splitlines()
        return int(sum(float(row.split()[1]) for row in text if row.startswith("cenote_stream_lines_total{")))

    def num_lines_at_rest(self) -> int:
        """The same once it stays as it is, for longer than any step takes."""
        seen = [self.num_lines()]
        while len(seen) < 4 or len(set(seen[-4:])) > 1:
            time.sleep(0.4)
            seen.append(self.num_lines())
        return seen[-1]


@pytest.fixture(scope="module")
def streaming(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streaming]:
    folder = tmp_path_factory.mktemp("stream")
    made = Streaming(None, folder / "keys.jsonl", folder / "faults")  # type: ignore[arg-type]  # two lines below
    made.write_keys(*KEYS)
    flags = [word for pair in FLAGS.items() for word in pair]
    made.server = start_server(*flags, "--api-keys", str(made.keys), env=faulty_environ(made.faults))
    made.server.http.headers["authorization"] = "Bearer acme-key"
    made.server.wait_until_ready()
    yield made
    made.server.http.close()


def test_the_first_answer_comes_before_the_last_line_is_sent(streaming: Streaming) -> None:
    texts = [f"text {i}" for i in range(300)]
    with streaming.open("?encoding_format=base64") as client:
        client.send({"id": "a", "input": texts[0]})
        first = client.read()
        assert (first["type"], first["index"], first["id"]) == ("embedding", 0, "a")
        client.send(*({"input": text} for text in texts[1:]))
        client.finish()
        answers, end = client.read_all()
    found = np.stack([from_base64(one["embedding"]) for one in (first, *answers)])
    np.testing.assert_allclose(found, streaming.server.vectors({"input": texts}), rtol=0, atol=1e-5)
    assert (end["complete"], end["num_lines"], end["num_answered"], end["num_failed"]) == (True, 300, 300, 0)
    assert end["usage"]["prompt_tokens"] == sum(one["prompt_tokens"] for one in (first, *answers))
    assert "id" not in answers[0]


def test_answers_come_in_the_order_in_which_they_are_done(streaming: Streaming) -> None:
    with streaming.open() as client:
        client.send({"content": [image_part(image(901, 1600, 1600, "WEBP"))]}, *({"input": f"{i}"} for i in range(9)))
        order = [client.read()["index"] for _ in range(10)]
        client.finish()
        assert client.read()["type"] == "end"
    assert order[-1] == 0, "the texts did not wait for the image that was sent before them"
    assert sorted(order) == list(range(10))


POISON: list[tuple[Any, str]] = [
    (b"{'input': 1}\n", "invalid_json"),
    ({"inptu": "a"}, "unknown_field"),
    ({"id": "both", "input": "a", "content": "b"}, "conflicting_input"),
    ({"id": "none"}, "missing_input"),
    (b'{"input": "\xff"}\n', "invalid_json"),
    (b'{"input": "' + b"a" * (MAX_LINE_BYTES + 1) + b'"}\n', "body_too_large"),
    ({"content": [image_part("data:image/png;base64,AAAA")]}, "media_undecodable"),
    ({"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]}, "invalid_request"),
    ({"input": "a " * 60_000}, "context_length_exceeded"),
    ({"content": [{"type": "image_url", "uuid": "nobody"}]}, "cache_miss"),
    ({"messages": [{"role": "system", "content": "a"}]}, "empty_input"),
    ({"messages": [{"role": "system", "content": "a"}], "instruction": "b"}, "conflicting_input"),
    ({"input": "a", "messages": [{"role": "user", "content": "a"}]}, "conflicting_input"),
    ({"input": ["a"]}, "invalid_request"),
    ({"input": "a", "dimensions": 64}, "unknown_field"),
    (b'{"input": "a", "id": 7}\n', "invalid_request"),
    (b'["a"]\n', "invalid_request"),
]


def test_a_bad_line_is_answered_with_its_error_and_harms_no_other(streaming: Streaming) -> None:
    lines = [one for bad, _ in POISON for one in (bad, {"input": "good"}, b"  \r\n")]
    answers, end = exchange(streaming.server, lines, "?dimensions=64", BEARER)
    assert [one["index"] for one in answers] == [i for i in range(len(lines)) if i % 3 != 2]
    bad, good = answers[::2], answers[1::2]
    assert [one["error"]["code"] for one in bad] == [code for _, code in POISON]
    assert [one["error"]["index"] for one in bad] == [one["index"] for one in bad]
    assert [one.get("id") for one in bad] == [one.get("id") if isinstance(one, dict) else None for one, _ in POISON]
    assert bad[0]["error"]["message"].startswith("line 1: expected one JSON object")
    assert bad[6]["error"]["param"] == "content[0].image_url"
    assert bad[9]["error"]["missing"][0]["index"] == 27
    assert len({json.dumps(one["embedding"]) for one in good}) == 1
    assert (end["complete"], end["num_lines"]) == (True, len(lines))
    assert (end["num_answered"], end["num_failed"]) == (len(good), len(bad))


def test_an_image_under_several_instructions_is_encoded_once(streaming: Streaming) -> None:
    url = image(902)
    before = streaming.server.metric("cenote_vision_encodes_total")
    items = [{"content": [image_part(url), text_part("a door")], "instruction": one} for one in (RED, BLUE, RED)]
    talk = {"messages": [{"role": "system", "content": BLUE}, {"role": "user", "content": [image_part(url)]}]}
    bare = {"input": "x", "instruction": ""}
    texts = [{"input": "x"}, bare]
    answers, end = exchange(streaming.server, [*items, talk, *texts], f"?instruction={quote(RED)}", BEARER)
    assert streaming.server.metric("cenote_vision_encodes_total") == before + 1
    assert (end["usage"]["encoder_cache_hits"], end["usage"]["encoder_cache_misses"]) == (3, 1)
    same = [
        {"inputs": [{"content": items[0]["content"]}], "instruction": RED},
        {"inputs": [{"content": items[1]["content"]}], "instruction": BLUE},
        {"inputs": [{"content": items[2]["content"]}], "instruction": RED},
        talk,
        {"input": "x", "instruction": RED},
        bare,
    ]
    for one, body in zip(answers, same, strict=True):
        np.testing.assert_allclose(one["embedding"], streaming.server.vectors(body)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "headers", "status", "code", "param"),
    [
        ("?dimension=64", {}, 400, "unknown_field", "dimension"),
        *((f"?dimensions={one}", {}, 400, "invalid_request", "dimensions") for one in ("", 0, "1e2", "100.0", "many")),
        ("?dimensions=31", {}, 400, "invalid_dimensions", "dimensions"),
        ("?truncate_prompt_tokens=1e1", {}, 400, "invalid_request", "truncate_prompt_tokens"),
        ("?embed_dtype=float64", {}, 400, "invalid_request", "embed_dtype"),
        ("?model=a&model=a", {}, 400, "invalid_request", None),
        ("?model=%ff", {}, 400, "invalid_request", None),
        ("?" + "&".join(f"a{i}=1" for i in range(65)), {}, 400, "invalid_request", None),
        ("?model=nobody", {}, 404, "model_not_found", "model"),
        ("", {"content-type": "application/json"}, 415, "unsupported_media_type", None),
        ("", {"content-encoding": "gzip"}, 415, "unsupported_media_type", None),
        ("", {"authorization": "Bearer nobody"}, 401, "invalid_api_key", None),
    ],
)
def test_what_concerns_all_lines_is_refused_before_the_first(
    streaming: Streaming, query: str, headers: dict[str, str], status: int, code: str, param: str | None
) -> None:
    sent = {"content-type": "application/x-ndjson"} | headers
    answer = streaming.server.http.post(f"/v1/embeddings/stream{query}", content=b'{"input":"a"}', headers=sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)


def test_a_client_that_cannot_read_while_it_sends_gets_a_windows_worth(streaming: Streaming) -> None:
    body = (json.dumps({"input": f"text {i}"}).encode() + b"\n" for i in range(NUM_LINES))
    headers = {"content-type": "application/x-ndjson"}
    with streaming.server.http.stream("POST", "/v1/embeddings/stream", content=body, headers=headers) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert [line["type"] for line in lines] == ["embedding"] * NUM_LINES + ["end"]


def test_lines_in_tiny_chunks_are_read_and_tiny_chunks_without_lines_are_not(streaming: Streaming) -> None:
    with streaming.open() as client:
        for i in range(200):
            client.send_bytes(b'{"input":"%d"}' % i)
            client.send_bytes(b"\n")
        client.finish()
        assert client.read_all()[1]["num_answered"] == 200
    with streaming.open() as client:
        client.send({"input": "a"})
        assert client.read()["type"] == "embedding"
        client.socket.sendall(b"1\r\n \r\n" * 5_000)
        with pytest.raises((AssertionError, OSError)):
            client.read()


def test_a_client_that_hangs_up_leaves_nothing_under_way(streaming: Streaming) -> None:
    def told() -> list[str]:
        return [row for row in streaming.server.log_lines() if '"lines":' in row]

    num_told = len(told())
    with slowed(streaming.faults, 0.5), streaming.open() as client:
        client.send(*({"input": f"left {i}"} for i in range(2000)))
        until(lambda: streaming.server.metric("cenote_queue_inputs") > 64, "what follows from it")
    until(lambda: streaming.server.metric("cenote_streams") == 0, "what follows from it")
    until(lambda: streaming.server.metric("cenote_queue_inputs") == 0, "what follows from it")
    assert streaming.server.metric("cenote_queue_bytes") == 0
    until(lambda: len(told()) > num_told, "what follows from it")
    line = json.loads(told()[-1])
    assert (line["route"], line["complete"], line["answered"] < 2000) == ("/v1/embeddings/stream", False, True)


def send_until_it_stalls(client: StreamClient, piece: bytes) -> int:
    """Number of pieces until the other side read no more."""
    for num_sent in range(10_000):
        try:
            client.send_bytes(piece)
        except TimeoutError:
            return num_sent
    raise AssertionError("the server reads without end")


def test_a_slow_reader_stalls_the_reading_and_not_the_memory(streaming: Streaming) -> None:
    """Some megabytes lie in the sockets' buffers; after them nothing is read, and what is under way is a window."""
    row = json.dumps({"id": "x" * 250, "input": "a text"}).encode() + b"\n"
    before = streaming.num_lines()
    with streaming.open(receive_bytes=4096) as client:
        client.socket.settimeout(1.5)
        num_sent = send_until_it_stalls(client, row * 50) * 50
        processes = processes_of(streaming.server.process.pid)
        for one in processes:
            one.sample()
        stalled = streaming.num_lines_at_rest()
        assert stalled - before < num_sent - NUM_LINES, "lines were read whose answers nobody takes"
        for one in processes:
            one.sample()
            assert one.rss[1][1] - one.rss[0][1] < 8 << 20
        client.socket.settimeout(10)
        for _ in range(200):
            client.read()
        until(lambda: streaming.num_lines() > stalled, "what follows from it")


@pytest.mark.parametrize("sent", [b"", b'{"input": "never ended'])
def test_a_stream_on_which_nothing_comes_ends_with_the_reason(streaming: Streaming, sent: bytes) -> None:
    with streaming.open() as client:
        client.send({"input": "a"})
        if sent:
            client.send_bytes(sent)
        (one,), end = client.read_all()
    assert one["type"] == "embedding"
    assert (end["complete"], end["num_lines"], end["error"]["code"]) == (False, 1, "body_timeout")


def test_a_client_that_waits_for_its_answers_is_not_idle(streaming: Streaming) -> None:
    with streaming.open() as client:
        with slowed(streaming.faults, IDLE_S + 1):
            client.send({"input": "slow"})
            assert client.read()["type"] == "embedding"
        client.send({"input": "another"})
        client.finish()
        assert client.read_all()[1]["complete"]


def test_blank_lines_keep_a_stream_open(streaming: Streaming) -> None:
    with streaming.open() as client:
        for _ in range(4):
            client.send_bytes(b"\n")
            time.sleep(IDLE_S / 3)
        client.send({"input": "late"})
        client.finish()
        (one,), end = client.read_all()
    assert (one["index"], end["num_lines"], end["complete"]) == (4, 5, True)


def test_a_line_waits_no_longer_than_its_request_may(streaming: Streaming) -> None:
    with streaming.open("", f"{BEARER}\r\nx-request-timeout: 1.5") as client:
        with slowed(streaming.faults, 2.5) as slowing:
            client.send({"input": "too late"})
            late = client.read()
        while slowing.exists():
            client.send_bytes(b"\n")  # keeps it open meanwhile
            time.sleep(0.1)
        client.send({"input": "in time"})
        client.finish()
        (one,), end = client.read_all()
    assert late["error"]["code"] == "deadline_exceeded"
    assert (one["type"], end["num_failed"], end["complete"]) == ("embedding", 1, True)


def test_a_key_that_is_taken_away_ends_its_streams(streaming: Streaming) -> None:
    with streaming.open("", "authorization: Bearer other-key") as client:
        client.send({"input": "a"})
        assert client.read()["type"] == "embedding"
        streaming.write_keys("acme-key")
        _, end = client.read_all()
    assert (end["complete"], end["num_lines"], end["error"]["code"]) == (False, 1, "invalid_api_key")


def test_on_sigterm_what_was_read_is_answered_and_the_last_line_says_the_rest(streaming: Streaming) -> None:
    """The last test: the server is gone after it."""
    with slowed(streaming.faults, 2), streaming.open() as client:
        client.send(*({"input": f"accepted {i}"} for i in range(20)))
        until(lambda: streaming.server.metric("cenote_queue_inputs") >= 20, "what follows from it")
        streaming.server.process.send_signal(signal.SIGTERM)
        until(lambda: streaming.server.status("/readyz") in (0, 503), "what follows from it")
        answers, end = client.read_all()
    assert [one["type"] for one in answers] == ["embedding"] * 20
    assert (end["complete"], end["num_lines"], end["num_answered"]) == (False, 20, 20)
    assert end["error"]["code"] == "server_draining"
    assert streaming.server.process.wait(30) == 0
    assert "Traceback" not in streaming.server.log.read_text()
