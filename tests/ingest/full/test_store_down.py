"""Stores that are down for a while, and connections that are cut: a run goes on, and nothing is there twice."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import lancedb
import psycopg
import pytest

from tests.conftest import LiveServer, free_ports
from tests.ingest.full.killed_stores import KINDS, Store, milvus, qdrant, started
from tests.ingest.full.qdrant_http import NAME
from tests.ingest.full.wire import Wire, to_file, to_port
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy

NUM_TEXTS = 600
WAITING = "waiting for the store, at most 300 s (--give-up-s)"
"""Clients of Milvus and of stores of objects wait for a while by themselves."""
CUT_S = 6.0
"""Of a connection."""
DOWN_S = float(os.environ.get("CENOTE_DOWN_S", "60"))
"""Of stores, all of them in the same minute."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "in.jsonl"
    path.write_text("".join(json.dumps({"id": n, "text": f"door {n}", "n": n % 7}) + "\n" for n in range(NUM_TEXTS)))
    return path


def run(
    live: LiveServer, source: Path, target: str, wire: Wire, ledger: Path, env: dict[str, str] | None = None
) -> str:
    """What a run says whose connection is cut twice, for a moment and for longer, and before anything is written."""
    slow = Proxy(live.url, dawdle_s=0.15)
    arguments = (source, "--to", target, "--ledger", ledger, "--dead-letters", f"{ledger}.dead", "--server", slow.url)
    wire.cut()
    program = Program(*arguments, "--concurrency", "1", "--batch-inputs", "16", env=env)
    time.sleep(5)
    wire.mend()
    for down_s in (0.0, CUT_S):
        before = _written(program)
        _until(program, lambda before=before: _written(program) > before)
        wire.cut()
        time.sleep(down_s)
        wire.mend()
    end = program.end()
    slow.stop()
    assert wire.num_cut >= 2
    assert (end["points"], end["failed"]) == (NUM_TEXTS, 0)
    return program.stderr()


def _written(program: Program) -> int:
    return max((event["points"] for event in program.events()), default=0)


def _until(program: Program, happened: Callable[[], bool]) -> None:
    while not happened():
        assert program.process.poll() is None, f"{program.events()[-1:]} {program.stderr()}"
        time.sleep(0.01)


def check(ids: Sequence[object]) -> None:
    assert sorted(map(str, ids)) == sorted(map(str, range(NUM_TEXTS)))


def gives_up(live: LiveServer, source: Path, target: str, ledger: Path) -> None:
    """A store that does not come back ends the run with its name."""
    ended = Program(source, "--to", target, "--ledger", ledger, "--server", live.url, "--give-up-s", "2").end(1)
    assert "the store has taken nothing for 2 s (--give-up-s)" in ended["why"]


def test_pgvector(live: LiveServer, source: Path, tmp_path: Path, postgres: str) -> None:
    (folder,) = parse_qs(urlsplit(postgres).query)["host"]
    wire = Wire(to_file(f"{folder}/.s.PGSQL.5432"))
    target = f"pgvector:postgresql://postgres@127.0.0.1:{wire.port}/postgres#down"
    assert WAITING in run(live, source, target, wire, tmp_path / "ledger")
    with psycopg.connect(postgres) as database:
        check([id_ for (id_,) in database.execute("SELECT id FROM down").fetchall()])
    wire.cut()
    gives_up(live, source, target, tmp_path / "other")


def test_milvus(live: LiveServer, source: Path, tmp_path: Path) -> None:
    with milvus(tmp_path) as store:
        wire = Wire(to_port(_port(store)))
        target = f"milvus:http://127.0.0.1:{wire.port}#{NAME}"
        run(live, source, target, wire, tmp_path / "ledger")
        check(store.ids())
        wire.cut()
        gives_up(live, source, target, tmp_path / "other")


def test_lancedb_in_a_store_of_objects(
    live: LiveServer, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports()
    with started(sys.executable, "-m", "moto.server", "-p", port):
        wire = Wire(to_port(port))
        env = {
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }
        for name, value in (env | {"AWS_ENDPOINT": f"http://127.0.0.1:{port}"}).items():
            monkeypatch.setenv(name, value)
        assert httpx.put(f"http://127.0.0.1:{port}/bucket").status_code == 200
        own = env | {"AWS_ENDPOINT": f"http://127.0.0.1:{wire.port}"}
        run(live, source, "lancedb:s3://bucket/l#down", wire, tmp_path / "ledger", own)
        rows = lancedb.connect("s3://bucket/l").open_table("down").to_arrow()
        check(rows["id"].to_pylist())


def test_qdrant(live: LiveServer, source: Path, tmp_path: Path) -> None:
    with qdrant(tmp_path) as store:
        wire = Wire(to_port(_port(store)))
        target = f"qdrant:http://127.0.0.1:{wire.port}#{NAME}"
        assert WAITING in run(live, source, target, wire, tmp_path / "ledger")
        check(store.ids())
        wire.cut()
        gives_up(live, source, target, tmp_path / "other")


def _port(store: Store) -> int | None:
    return urlsplit(store.target.partition(":")[2]).port


def test_every_store_is_killed_and_comes_back_after_a_minute(live: LiveServer, source: Path, tmp_path: Path) -> None:
    slow = Proxy(live.url, dawdle_s=0.3)
    with contextlib.ExitStack() as ending:
        stores, runs = {}, {}
        for kind, start in KINDS.items():
            folder = tmp_path / kind
            folder.mkdir()
            stores[kind] = ending.enter_context(start(folder))
            arguments = (source, "--to", stores[kind].target, "--ledger", tmp_path / f"{kind}.ledger")
            runs[kind] = Program(*arguments, "--server", slow.url, "--concurrency", "1", "--batch-inputs", "16")
        for kind, run in runs.items():
            _until(run, lambda run=run: _written(run) > 0)
            stores[kind].kill()
        time.sleep(DOWN_S)
        written = {kind: _written(run) for kind, run in runs.items()}
        for kind, run in runs.items():
            assert run.process.poll() is None, f"{kind}: {run.events()[-1]} {run.stderr()}"
            assert written[kind] < NUM_TEXTS
            stores[kind].start()
        for kind, run in runs.items():
            end = run.end()
            print(f"{kind}: {written[kind]} points before; {end['elapsed_s']:.0f} s; {run.stderr()}")
            assert (end["points"], end["failed"]) == (NUM_TEXTS, 0)
            check(stores[kind].ids())
    slow.stop()
