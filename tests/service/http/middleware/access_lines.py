"""Reading a server's access lines."""

import json
import time
from typing import Any

from tests.conftest import LiveServer


def line_of(server: LiveServer, id_: str) -> dict[str, Any]:
    """The log line of a request, as soon as it is there."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        for line in server.log.read_text().splitlines():
            if (found := json.loads(line)).get("request_id") == id_ and "route" in found:
                return dict(found)
        time.sleep(0.02)
    raise AssertionError(f"no line of {id_}")
