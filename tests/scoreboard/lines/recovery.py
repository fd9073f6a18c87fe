"""Time until a server is ready again, seen from outside; its probes tell the truth meanwhile."""

import os
import re
import signal
import time

import httpx

from tests.conftest import LiveServer

LIMIT_S = 60.0
POLL_S = 0.05


def fault_engine(server: LiveServer, number: signal.Signals, detect_s: float) -> tuple[float, float, str]:
    """Send the engine a signal and wait until the service has healed.

    Args:
        server: it is ready.
        number: the signal.
        detect_s: within this time `/readyz` must have turned.

    Returns:
        Seconds until not ready, seconds from there until ready, and what went wrong or nothing.
    """
    began_s = time.monotonic()
    os.kill(server.engine_pid(), number)
    if not (turned_s := _wait(server, "/readyz", 503, began_s)):
        return LIMIT_S, LIMIT_S, "never became unready"
    ready_s = _wait(server, "/readyz", 200, began_s)
    if not ready_s:
        return turned_s, LIMIT_S, "never became ready again"
    late = f"unready only after {turned_s:.1f} s" if turned_s > detect_s else ""
    return turned_s, ready_s - turned_s, late


def load_seconds(server: LiveServer) -> float:
    """Seconds from the start of the engine that serves now until its weights were loaded and checked.

    Of this engine and no other: on a busy machine the next one takes another time.
    """
    return float(re.findall(r"started in ([\d.]+) s", server.log.read_text())[-1])


def _wait(server: LiveServer, path: str, status: int, began_s: float) -> float:
    """Seconds from the beginning until the probe says so; 0 when it never does. The front must be live throughout."""
    with httpx.Client(base_url=server.url, timeout=5) as http:
        while time.monotonic() - began_s < LIMIT_S:
            assert http.get("/livez").status_code == 200
            if http.get(path).status_code == status:
                return time.monotonic() - began_s
            time.sleep(POLL_S)
    return 0.0
