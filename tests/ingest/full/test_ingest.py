"""`cenote ingest` against the live server: real processes, real kills, and what is in the sink afterwards."""

import contextlib
import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import LiveServer, data_uri
from tests.ingest.folder import BROKEN, INSTRUCTIONS, asked, fill
from tests.ingest.program import Program, by_id, lines
from tests.ingest.proxy import Proxy

NUM_IMAGES = 40
WANTED = NUM_IMAGES * len(INSTRUCTIONS)
SLOWLY = ("--concurrency", "1", "--batch-inputs", "6")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images that the server has not seen."""
    path = tmp_path_factory.mktemp("images")
    fill(path, NUM_IMAGES, seed=time.time_ns() % 2**32)
    return path


@pytest.fixture(scope="module")
def slow(builtin: LiveServer) -> Iterator[str]:
    """The same server behind a proxy that takes a second's break now and then: a kill comes before the end."""
    proxy = Proxy(builtin.url, told_every=6)
    yield proxy.url
    proxy.stop()


def probe(server: LiveServer) -> bytes:
    """The probe that older ledgers had in place of a fingerprint."""
    return server.vectors({"input": ["a pool of clear water"]})[0].tobytes()


def test_a_file_that_was_cut_anywhere_by_a_kill_has_every_line_once(slow: str, folder: Path, tmp_path: Path) -> None:
    sink = tmp_path / "out.jsonl"
    arguments = (folder, "--to", sink, "--server", slow, *asked(*INSTRUCTIONS[:2]), *SLOWLY)
    Program(*arguments).kill_when(lambda: sink.exists() and sink.stat().st_size > 0)
    with sink.open("ab") as file:  # as if it had been killed within the next write
        file.write(b'{"point":"2d1cc2a6-0e22-5473-8e21-a7638eedf847","id":"00')
    Program(*arguments).end(3)
    pairs = [(line["id"], line["instruction"]) for line in lines(sink)]
    assert len(pairs) == len(set(pairs)) == 2 * NUM_IMAGES
    more = Program(*arguments, *asked(INSTRUCTIONS[2])).end(3)
    assert (more["points"], more["already"]) == (NUM_IMAGES, 2 * NUM_IMAGES), "one more instruction adds its own"
    assert len(lines(sink)) == WANTED


def test_refused_and_too_large_batches_are_retried_as_the_server_asks(
    builtin: LiveServer, folder: Path, tmp_path: Path
) -> None:
    """Behind a proxy with a small limit for bodies, which the server knows nothing of, and with a temper."""
    proxy = Proxy(builtin.url, max_body_bytes=12_000, told_every=4)
    arguments = (folder, "--to", tmp_path / "out.jsonl", "--server", proxy.url, *asked(INSTRUCTIONS[0]))
    end = Program(*arguments, "--batch-bytes", "40000", "--concurrency", "1").end(3)
    proxy.stop()
    assert (end["points"], end["failed"]) == (NUM_IMAGES, len(BROKEN))
    assert 0 < proxy.num_refused < 6, "the batches that follow are smaller"
    assert len(proxy.waits_s) > 0
    assert min(proxy.waits_s) >= 0.99
    assert end["waited_s"] >= 0.99 * len(proxy.waits_s)


def test_another_model_length_or_sink_is_refused_and_named(builtin: LiveServer, folder: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "ledger", "--server", builtin.url)
    records = tmp_path / "in.jsonl"
    records.write_text('{"id": 1, "text": "a red door"}\n')
    Program(records, "--to", tmp_path / "a.jsonl", *ledger).end()
    other = Program(records, "--to", tmp_path / "a.jsonl", *ledger, "--dimensions", "64").end(1)
    assert "dimensions was 256 and is 64" in other["why"]
    elsewhere = Program(records, "--to", tmp_path / "b.jsonl", *ledger).end(1)
    assert "the sink was jsonl:a.jsonl" in elsewhere["why"]
    for vector, says in ((probe(builtin), ""), (np.ones(256, "<f4").tobytes(), "has changed under the same name")):
        with contextlib.closing(sqlite3.connect(tmp_path / "ledger")) as database, database:  # of an older version
            database.execute("DELETE FROM fact WHERE name = 'fingerprint'")
            database.execute("INSERT OR REPLACE INTO fact VALUES ('probe', ?)", (vector,))
        old = Program(records, "--to", tmp_path / "a.jsonl", *ledger)
        assert says in old.end(1 if says else 0)["why"]
        assert ("of an older version" in old.stderr()) is not bool(says)


def test_lines_that_are_no_items_are_dead_letters_with_their_numbers_and_others_go_on(
    builtin: LiveServer, folder: Path, tmp_path: Path
) -> None:
    image = next(folder.rglob("0*.png"))
    records = [
        {"id": "t", "text": "a red door", "price": 3},
        {"id": "p", "image": str(image), "text": "with words"},
        {"id": "u", "image": data_uri(image.read_bytes())},
        {"text": "no id"}, {"text": "no id"},
        {"id": "t", "text": "a green door"},
        {"id": "long", "text": "word " * 20_000, "image": str(image)},
        {"id": "n"}, {"id": "far", "image": "nowhere.png"}, {"id": 7, "text": 7},
    ]  # fmt: skip
    sent = "\n".join([*map(json.dumps, records), "{broken", "", '["list"]', ""]).encode()
    arguments = ("-", "--to", tmp_path / "out.jsonl", "--server", builtin.url, "--instruction", "x", "--root", folder)
    end = Program(*arguments, stdin=sent).end(3)
    written = {line["id"]: line for line in lines(tmp_path / "out.jsonl")}
    assert written["t"]["metadata"] == {"price": 3}
    assert (written["p"]["text"], len(written)) == ("with words", 4)
    assert end["points"] == 4, "the same record twice is one point"
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert {name: line["code"] for name, line in letters.items()} == {
        "t": "content_changed", "long": "context_length_exceeded", "n": "invalid_record", "far": "invalid_record",
        "7": "invalid_record", "line 11": "invalid_record", "line 13": "invalid_record",
    }  # fmt: skip
    assert Program(*arguments, stdin=sent).end(3)["failed"] == len(letters), "a second run adds none"
    assert end["failed_by_code"] == {"invalid_record": 5, "content_changed": 1, "context_length_exceeded": 1}
    cut = Program(*arguments, "--retry-failed", "--truncate", stdin=sent).end(3)
    assert (cut["points"], cut["failed"]) == (1, len(letters) - 1), "it is not part of what makes vectors comparable"
    strict = Program(
        *arguments, "--ledger", tmp_path / "l", "--to", tmp_path / "b.jsonl", "--max-errors", "2", stdin=sent
    )
    assert "more than --max-errors" in strict.end(4)["why"]


def test_a_signal_ends_it_between_two_batches_and_nothing_is_asked_twice(
    slow: str, folder: Path, tmp_path: Path
) -> None:
    arguments = (folder, "--to", tmp_path / "out.jsonl", "--server", slow, *asked(), *SLOWLY)
    program = Program(*arguments)
    while not (tmp_path / "out.jsonl").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    program.process.send_signal(signal.SIGTERM)
    first = program.end(1)
    assert "signal" in first["why"]
    assert len(lines(tmp_path / "out.jsonl")) == first["points"]
    second = Program(*arguments).end(3)
    assert (second["already"], second["points"] + second["already"]) == (first["points"], WANTED)
