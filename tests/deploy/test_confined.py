"""The service in the container's confinement: it needs no more than the README says that it gets."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import children_of, command_of, until
from tests.deploy import traffic
from tests.deploy.confined_server import ConfinedServer
from tests.deploy.confinement import UID, status_of
from tests.deploy.conftest import MODEL
from tests.deploy.tools import DEPLOY


def healthcheck(server: ConfinedServer) -> subprocess.CompletedProcess[str]:
    environment = {"CENOTE_PORT": server.url.rpartition(":")[2], "http_proxy": "http://192.0.2.1:1"}
    command = [sys.executable, DEPLOY / "healthcheck.py"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_process_is_nobody_and_the_front_is_process_one(confined: ConfinedServer) -> None:
    processes = [confined.pid, *children_of(confined.pid)]
    assert any("service.engine.worker" in command_of(pid) for pid in processes)
    for status in map(status_of, processes):
        assert status["Uid"].split() == [str(UID)] * 4
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
        assert status["NoNewPrivs"] == "1"
    assert status_of(confined.pid)["NSpid"].split()[-1] == "1"


def test_its_root_is_read_only_and_has_no_shared_memory_folder(confined: ConfinedServer) -> None:
    mounts = [line.split() for line in Path(f"/proc/{confined.pid}/mountinfo").read_text().splitlines()]
    writable = {mount[4] for mount in mounts if mount[5].split(",")[0] == "rw"}
    assert {one for one in writable if not one.startswith(("/sys", "/dev/"))} == {"/tmp", "/var/cache/cenote", "/proc"}
    assert not Path(f"/proc/{confined.pid}/root/dev/shm").exists()


def test_it_answers_and_keeps_features_where_it_may_write(confined: ConfinedServer) -> None:
    traffic.one_round(confined, 1)
    traffic.one_video(confined)
    kept = confined.cache / "features"
    assert kept.stat().st_mode & 0o777 == 0o700
    until(lambda: list(kept.glob("*/*.safetensors")), "the file, which is written behind the answer", 10)


def test_nobody_is_answered_without_a_key(confined: ConfinedServer) -> None:
    answer = confined.http.post("/v1/embeddings", json={"input": "a"}, headers={"authorization": "Bearer other"})
    assert answer.status_code == 401


def test_metrics_have_a_port_of_their_own(confined: ConfinedServer) -> None:
    assert confined.http.get("/metrics").status_code == 404
    assert f'cenote_engine_ready{{model="{MODEL}"}} 1.0'.encode() in confined.http.get(confined.metrics_url).content


def test_the_health_check_passes(confined: ConfinedServer) -> None:
    ran = healthcheck(confined)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("port", ["1", "0"])
def test_the_health_check_fails_where_nobody_answers(port: str) -> None:
    ran = subprocess.run([sys.executable, DEPLOY / "healthcheck.py"], env={"CENOTE_PORT": port}, capture_output=True)
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"no answer")
