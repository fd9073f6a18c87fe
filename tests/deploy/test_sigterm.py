"""The end as process 1: SIGTERM, readiness first, then exit code 0, within what the manifests give it."""

import time

from tests.deploy.confined_server import STOP_S, ConfinedServer
from tests.deploy.test_confined import healthcheck


def test_sigterm_turns_readiness_first_and_ends_in_time(confined: ConfinedServer) -> None:
    began_s = time.monotonic()
    confined.terminate()
    time.sleep(0.5)
    assert confined.http.get("/livez").status_code == 200
    assert confined.http.get("/readyz").status_code == 503
    assert healthcheck(confined).stdout.startswith("503: ")
    late = confined.http.post("/v1/embeddings", json={"input": "who does not know yet"})
    assert late.status_code == 200, "the lame duck still takes connections"
    assert confined.stop() == 0
    assert 4 < time.monotonic() - began_s < STOP_S - 10
