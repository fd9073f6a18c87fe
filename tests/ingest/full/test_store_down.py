"""Stores that are down for a while, and connections that are cut: a run goes on, and nothing is there twice."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import lancedb
import psycopg
import pymilvus
import pytest
import qdrant_client

from tests.conftest import LiveServer, free_ports
from tests.ingest.full.wire import Wire, to_file, to_port
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy

NUM_TEXTS = 600
WAITING = "waiting for the store, at most 300 s (--give-up-s)"
"""Clients of Milvus and of stores of objects wait for a while by themselves."""
DOWN_S = 12.0
"""Down for a while; the page says a minute, which differs in nothing but patience."""


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
    for down_s in (0.0, DOWN_S):
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
    (port,) = free_ports()
    server = (*(Path(sys.executable).parent / "milvus-lite", "server"), *("--data-dir", tmp_path / "m"))
    with started(*server, "--host", "127.0.0.1", "--port", port):
        wire = Wire(to_port(port))
        target = f"milvus:http://127.0.0.1:{wire.port}#down"
        run(live, source, target, wire, tmp_path / "ledger")
        client = pymilvus.MilvusClient(f"http://127.0.0.1:{port}")
        client.load_collection("down")
        check([row["id"] for row in client.query("down", filter="point != ''", output_fields=["id"], limit=16_000)])
        client.close()
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
    """Its embedded form behind HTTP: there is no server to be had from a package registry."""
    client: Any = qdrant_client.QdrantClient(path=str(tmp_path / "q"), force_disable_check_same_thread=True)
    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: Qdrant(client, lock, *given))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wire = Wire(to_port(server.server_port))
    target = f"qdrant:http://127.0.0.1:{wire.port}#down"
    assert WAITING in run(live, source, target, wire, tmp_path / "ledger")
    found, _ = client.scroll("down", limit=100_000)
    check([point.payload["id"] for point in found])
    wire.cut()
    gives_up(live, source, target, tmp_path / "other")
    server.shutdown()
    client.close()


class Qdrant(BaseHTTPRequestHandler):
    """The routes that a run calls."""

    protocol_version = "HTTP/1.1"

    def __init__(self, client: Any, lock: threading.Lock, *given: Any) -> None:
        self._client = client
        self._lock = lock
        super().__init__(*given)

    def do_GET(self) -> None:
        name, is_there = "down", self._client.collection_exists("down")
        if self.path.endswith("/exists"):
            self._answer({"exists": is_there})
        else:
            self._answer(json.loads(self._client.get_collection(name).model_dump_json()) if is_there else {})

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self._lock:
            if self.path.partition("?")[0].endswith("/points"):
                self._client.upsert("down", [qdrant_client.models.PointStruct(**point) for point in body["points"]])
                self._answer({"operation_id": 0, "status": "completed"})
            else:
                vectors = qdrant_client.models.VectorParams(**body["vectors"])
                self._answer(self._client.create_collection("down", vectors_config=vectors))

    def _answer(self, result: Any) -> None:
        content = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return


@contextlib.contextmanager
def started(*command: object) -> Iterator[None]:
    """A server, once it listens on the port that its last argument names."""
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert process.poll() is None
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(str(command[-1])))):
                break
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()
