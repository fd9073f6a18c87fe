"""The id of a request: the client's when it is harmless, else a new one."""

import os
import re
from collections.abc import Mapping
from typing import Any

HEADER = b"x-request-id"
HARMLESS = re.compile(rb"[A-Za-z0-9._-]{1,128}")


def choose_request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """The `x-request-id` that came, if it is `[A-Za-z0-9._-]{1,128}`; it goes into logs and answers as it is."""
    came = next((value for name, value in headers if name.lower() == HEADER), b"")
    return came.decode() if HARMLESS.fullmatch(came) else new_request_id()


def new_request_id() -> str:
    """An id that nobody has."""
    return os.urandom(16).hex()  # a UUID's bytes without its making, which is slow when it is cold


def request_id(scope: Mapping[str, Any]) -> str:
    """The id that the access middleware chose for this request."""
    return str(scope.get("cenote_request_id", ""))
