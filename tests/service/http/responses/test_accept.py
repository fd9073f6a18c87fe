"""`Accept` headers that ask for raw bytes; all others get JSON."""

import pytest

from service.http.responses.answer import prefers_bytes

BYTES = [
    "application/octet-stream",
    "Application/Octet-Stream; Q=1.0",
    "application/octet-stream, application/json;q=0.9",
    "application/json;q=0.5,application/octet-stream;q=0.501",
    "application/octet-stream, */*",
    "application/octet-stream;q=0.8, application/*;q=0.8",
    "application/octet-stream;q=0.2, text/html",
    "application/json;q=0, */*",
    "application/json;q=0, application/*;q=0.1",
    "application/octet-stream;v=1;q=0.5, application/json;q=0.4",
    "*/*;q=nan, application/octet-stream;q=0.001",
]
JSON = [
    "*/*",
    "application/*",
    "application/json",
    "application/json, application/octet-stream",
    "application/octet-stream, application/json",
    "application/octet-stream;q=0.5, */*;q=0.8",
    "application/octet-stream;q=0.5, application/json;q=0.6",
    "application/octet-stream;q=0, */*",
    "application/octet-stream;q=0",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/html",
    "application/json;q=0",
    "application/octet-stream;q=2",
    "application/octet-stream;q=-1",
    "application/octet-stream;q=1e0",
    "application/octet-stream;q=",
    "application/octet-streams",
    "octet-stream",
    "",
    ",;,",
]


@pytest.mark.parametrize("accept", BYTES)
def test_bytes_are_for_who_says_so(accept: str) -> None:
    assert prefers_bytes(accept)


@pytest.mark.parametrize("accept", JSON)
def test_everything_else_is_json(accept: str) -> None:
    assert not prefers_bytes(accept)


def test_no_header_is_json_and_several_headers_are_one_list() -> None:
    assert not prefers_bytes("")
    assert prefers_bytes("application/json;q=0.1, application/octet-stream")
    assert not prefers_bytes("application/json, application/octet-stream;q=0.9")
