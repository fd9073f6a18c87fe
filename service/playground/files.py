"""The playground's files by path: read once, with what a browser and its cache need to know of each.

In: the folder `page` beside this module, and the built-in model's sample pictures. Out: `PAGE` and `FILES`. There is no
other path below `/playground/`, and a path is looked up here and never on a disk. Knows no HTTP.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

PREFIX = "/playground/"
"""Where the page finds the rest of itself."""

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""By ending. What ends otherwise, such as the types that only the checker reads, is not served."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""The Content-Security-Policy: nothing of another host, nothing inline, and no text that becomes markup."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file."""

    content: bytes
    media_type: str
    etag: str
    """Strong: a hash of the content."""


def _ending(name: str) -> str:
    return name[name.rfind(".") :]


def _read(file: Traversable) -> PageFile:
    content = file.read_bytes()
    return PageFile(content, MEDIA_TYPES[_ending(file.name)], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _found() -> Iterator[tuple[str, Traversable]]:
    for file in (resources.files("service.playground") / "page").iterdir():
        if _ending(file.name) in MEDIA_TYPES:
            yield PREFIX + file.name, file
    for file in (resources.files("service.model.builtin") / "samples").iterdir():
        yield f"{PREFIX}samples/{file.name}", file


FILES = {path: _read(file) for path, file in sorted(_found(), key=lambda pair: pair[0])}
"""Each path with its file; the page itself is among them only as `PAGE`."""

PAGE = FILES.pop(f"{PREFIX}index.html")
"""What `/` answers."""
