"""Where a redirect leads: the next URL, read as strictly as the first."""

import re
from collections.abc import Mapping

from service.media.fetch.failure import FetchError
from service.media.fetch.url import Url, parse_url
from service.media.fetch.url_error import UrlError

STATUSES = frozenset((301, 302, 303, 307, 308))

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DOT_SEGMENT = re.compile(r"(^|/)\.{1,2}(/|$)")


def next_url(url: Url, fields: Mapping[str, str]) -> Url:
    """Read where an answer redirects to.

    Args:
        url: what was asked for.
        fields: of the answer.

    Raises:
        FetchError: nowhere, to something that is no URL of ours, or from https to http.

    Source: RFC 3986 section 5.2, without paths that climb.
    """
    try:
        found = parse_url(_absolute(url, fields.get("location", "")))
    except UrlError as error:
        raise FetchError("redirect_refused") from error
    if url.scheme == "https" and found.scheme == "http":
        raise FetchError("redirect_refused")
    return found


def _absolute(url: Url, location: str) -> str:
    origin = f"{url.scheme}://{url.authority}"
    path = url.target.partition("?")[0]
    if _ABSOLUTE.match(location):
        return location
    if location.startswith("//"):
        return f"{url.scheme}:{location}"
    if location.startswith("/"):
        return origin + location
    if location.startswith("?"):
        return origin + path + location
    if not location or _DOT_SEGMENT.search(re.split("[?#]", location)[0]):
        raise UrlError("got a redirect to nowhere")
    return f"{origin}{path.rpartition('/')[0]}/{location}"
