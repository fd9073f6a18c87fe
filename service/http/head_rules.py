"""What the head of a request may look like on the wire, stricter than HTTP's grammar has to be.

In: the bytes that came so far. Out: nothing, or a `RemoteProtocolError` whose status says why. It runs before the head
is parsed, so a head that two parsers could read in two ways is read by none.

Source: RFC 9112 sections 2.2, 2.3, 3.2.2, 5.2, 6.1 and 11.2; shared/reference/security-reliability.md section 3.
"""

import re

import h11

MAX_HEADERS = 100
MAX_TARGET_BYTES = 8192
MAX_LINE_OVERHEAD = 64
"""What a request line has besides its target: method, spaces, version."""

_END = re.compile(rb"\n\r?\n")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_HOST = re.compile(rb"(?:[A-Za-z0-9._~%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)", re.IGNORECASE)
_FOLDED = re.compile(rb"\n[ \t]")


def check_head(raw: bytes, max_head_bytes: int) -> None:
    """Refuse a head that is too large, or that has bare line feeds or folded lines.

    Args:
        raw: what came of the head and perhaps of what follows it.
        max_head_bytes: limit of request line and headers together.

    Raises:
        h11.RemoteProtocolError: with 400, 414 or 431 as its hint.
    """
    end = _END.search(raw)
    head = raw[: end.end()] if end else raw
    if len(head.partition(b"\n")[0]) > MAX_TARGET_BYTES + MAX_LINE_OVERHEAD:
        raise _refused(414, "the target is too long")
    if len(head) > max_head_bytes or head.count(b"\n") > MAX_HEADERS + 2:
        raise _refused(431, "the head is too large")
    if _BARE_LF.search(head) or _FOLDED.search(head):
        raise _refused(400, "bare line feed or folded line")


def checked_fields(request: h11.Request) -> dict[bytes, bytes]:
    """The header fields by name in lower case; of one that came twice, the last.

    Raises:
        h11.RemoteProtocolError: both Content-Length and Transfer-Encoding are there, or Host is malformed.
    """
    values = {name.lower(): value for name, value in request.headers.raw_items()}
    if b"content-length" in values and b"transfer-encoding" in values:
        raise _refused(400, "two lengths")
    if not _HOST.fullmatch(values.get(b"host", b"")):
        raise _refused(400, "a malformed Host")
    return values


def origin_form(request: h11.Request) -> h11.Request:
    """The request with a target that is a path. One that is a whole URL, as proxies are sent them, says the host too.

    Raises:
        h11.RemoteProtocolError: it is of another major version of HTTP, or has a URL that is none of this server's.
    """
    if not request.http_version.startswith(b"1."):
        raise _refused(400, "another version of HTTP")
    if request.target.startswith(b"/") or b"://" not in request.target:
        return request
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        raise _refused(400, "a target that is no URL of an HTTP server")
    host, rest = found.groups()
    headers = [(name, value) for name, value in request.headers if name != b"host"]
    target = rest if rest.startswith(b"/") else b"/" + rest
    version = request.http_version
    return h11.Request(method=request.method, headers=[(b"host", host), *headers], target=target, http_version=version)


def _refused(status: int, why: str) -> h11.RemoteProtocolError:
    return h11.RemoteProtocolError(why, error_status_hint=status)
