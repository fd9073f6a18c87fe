"""The ledger: who may have it open, what was made of what, and files that are old or damaged."""

import asyncio
import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from service.ingest.errors import FailureReason, IngestError
from service.ingest.item import FailedAsk, Point
from service.ingest.ledger.choosing import Chooser
from service.ingest.ledger.dead_letters import DeadLetters
from service.ingest.ledger.ledger import Ledger
from service.ingest.plan import Plan
from service.ingest.progress import RunCounts
from service.ingest.sending.version import version_of
from service.ingest.sources.folder import Folder
from service.ingest.vectors import Vectors

PLAN = Plan(
    model="m", revision=None, prompt_format="p", pooling="mean", dtype="float32", dimensions=4, normalize=True,
    min_pixels=None, max_pixels=None, truncate=False,
)  # fmt: skip
OLD = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE done (point BLOB PRIMARY KEY, version BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE dead (point BLOB PRIMARY KEY, item TEXT NOT NULL, instruction TEXT, code TEXT NOT NULL,
                   message TEXT NOT NULL);
"""
"""Schema of the version before this one."""


class Run:
    """One run over a folder, as far as the ledger has to do with it; what is chosen counts as embedded."""

    def __init__(self, path: Path, folder: Path, *instructions: str) -> None:
        self.counts = RunCounts()
        with closing(Ledger(path)) as ledger:
            ledger.agree(PLAN, "sink", "print")
            ledger.made_by(PLAN, "sink", "print")
            chooser = Chooser(PLAN, instructions or [None], ledger, self.counts)
            read = list(Folder(folder, "", {}).items())
            chosen = asyncio.run(chooser.choose([*read, *read]))
            self.chosen, self.failures = chosen.asks, chosen.failures
            contents = {ask.item.id: digest(folder / ask.item.id) for group in self.chosen for ask in group}
            asks = [ask for group in self.chosen for ask in group]
            ledger.mark([Point(ask, Vectors(), version_of(ask.item, contents[ask.item.id])) for ask in asks], 0)
        self.codes = [failure.reason.code for failure in self.failures]


def digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    for name in ("a.png", "b.png"):
        (path / name).write_bytes(name.encode())
    return path


def test_a_file_that_changed_to_the_same_size_is_known_by_its_content(tmp_path: Path, folder: Path) -> None:
    ledger = tmp_path / "ledger"
    assert len(Run(ledger, folder).chosen) == 2
    assert Run(ledger, folder).codes == []
    (folder / "a.png").write_bytes(b"x.png")
    os.utime(folder / "a.png", ns=(1, 1))
    assert set(Run(ledger, folder).codes) == {"content_changed"}
    (folder / "a.png").write_bytes(b"a.png")  # as after a copy: another time, the same content
    assert Run(ledger, folder).codes == []


def test_what_a_source_gives_twice_was_not_there_before(tmp_path: Path, folder: Path) -> None:
    first = Run(tmp_path / "ledger", folder, "x", "y").counts
    assert (first.already, first.repeated) == (0, 4)
    second = Run(tmp_path / "ledger", folder, "x", "y").counts
    assert (second.already, second.repeated) == (8, 0)


def test_a_ledger_of_the_version_before_is_read(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "ledger"
    points = {name: PLAN.point_id(name, None) for name in ("a.png", "b.png")}
    sizes = {"a.png": 5, "b.png": 4}
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(OLD)
        rows = [(point.bytes, sizes[name].to_bytes(8, "big")) for name, point in points.items()]
        database.executemany("INSERT INTO done VALUES (?, ?)", rows)
        facts = {"plan": msgspec.json.encode(PLAN), "sink": b"sink", "position": b"7", "probe": b"0" * 16}
        database.executemany("INSERT INTO fact VALUES (?, ?)", facts.items())
    with closing(Ledger(path)) as ledger:
        assert (ledger.position, ledger.fact("fingerprint")) == (7, None)
    run = Run(path, folder)
    assert (run.counts.already, set(run.codes)) == (2, {"content_changed"}), "a.png has the size that it had"
    with closing(Ledger(path)) as ledger:
        assert (ledger.position, ledger.fact("fingerprint")) == (0, b"print")


def test_a_reader_disturbs_no_run_and_a_second_run_is_refused(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "ledger"
    Run(path, folder)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM done").fetchone() == (2,)
        (folder / "c.png").write_bytes(b"c")
        assert len(Run(path, folder).chosen) == 1
        with closing(Ledger(path)) as ledger:
            assert reader.execute("SELECT count(*) FROM done").fetchone() == (2,)
            with pytest.raises(IngestError, match="another run has it open"):
                Ledger(path)
            assert ledger.num_done() == 3


@pytest.mark.slow
def test_a_damaged_ledger_ends_with_one_sentence(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "ledger"
    for number in range(100):
        (folder / f"{number}.png").write_bytes(b"x" * number)
    Run(path, folder, *map(str, range(10)))
    whole = path.read_bytes()
    assert len(whole) > 200_000
    outcomes = set()
    for start in range(0, len(whole), 2048):
        path.write_bytes(whole[:start] + os.urandom(1024) + whole[start + 1024 :])
        for rest in ("-wal", "-shm"):
            path.with_name(f"ledger{rest}").unlink(missing_ok=True)
        try:
            Run(path, folder, *map(str, range(10)))
        except IngestError as error:
            outcomes.add(str(error).partition("(")[0].removeprefix(f"--ledger {path}: "))
    assert any("damaged" in outcome for outcome in outcomes), outcomes
    assert any("not a ledger" in outcome for outcome in outcomes), outcomes


@pytest.mark.parametrize("name", ["plan", "position"])
def test_a_ledger_with_damaged_facts_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    path = tmp_path / "ledger"
    Run(path, folder)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE fact SET value = 'x[' WHERE name = ?", (name,))
    with pytest.raises(IngestError, match="damaged"):
        Run(path, folder)


def test_items_that_failed_are_counted_and_not_their_lines(tmp_path: Path, folder: Path) -> None:
    with closing(Ledger(tmp_path / "ledger")) as ledger:
        dead = DeadLetters(tmp_path / "dead.jsonl", ledger)
        chooser = Chooser(PLAN, ["x", "y"], ledger, RunCounts())
        chosen = asyncio.run(chooser.choose(list(Folder(folder, "", {}).items())))
        for ask in (ask for group in chosen.asks for ask in group):
            dead.add([FailedAsk(ask, FailureReason("media_undecodable", "it is none"))])
        assert dead.num_items == 2
        assert len((tmp_path / "dead.jsonl").read_text().splitlines()) == 4
        dead.rewrite()
        lines = [msgspec.json.decode(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
        assert [(line["id"], line["instructions"]) for line in lines] == [("a.png", ["x", "y"]), ("b.png", ["x", "y"])]
        assert DeadLetters(tmp_path / "dead.jsonl", ledger).num_items == 2
