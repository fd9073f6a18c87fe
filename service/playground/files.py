"""The files by path that the pages load, read once, with media type and ETag.

They are the playground's folder `page`, the reference's, and the built-in model's sample images. A request's path is
looked up here, never on a disk.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

PREFIX = "/playground/"
"""Path of the files that the playground loads."""

DOCS_PREFIX = "/docs/"
"""Path of what the pages of the reference load besides."""

PAGES_PATH = f"{PREFIX}pages"
"""Path where the page has the pages of a PDF rendered."""

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""By suffix. Files with other suffixes, such as TypeScript's types, are not served."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""The Content-Security-Policy: no other host, nothing inline, and no text that becomes markup."""


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
    for package, prefix in (("service.playground", PREFIX), ("service.reference", DOCS_PREFIX)):
        for file in (resources.files(package) / "page").iterdir():
            if _ending(file.name) in MEDIA_TYPES:
                yield prefix + file.name, file
    for file in (resources.files("service.model.builtin") / "samples").iterdir():
        yield f"{PREFIX}samples/{file.name}", file


FILES = {path: _read(file) for path, file in sorted(_found(), key=lambda pair: pair[0])}
"""Files by path, without the page itself."""

PAGE = FILES.pop(f"{PREFIX}index.html")
"""The page at `/`."""
