"""The text of documents as Markdown, and where its headings stand: Word by mammoth, HTML by markdownify.

Runs in a process that has access to nothing. Plain texts and Markdown need nothing of the extra `documents`.
"""

import codecs
import io
import re
import zipfile
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt

from service.workers.messages import DocumentForm

MAX_XML_BYTES = 32 << 20
"""Of the XML in a Word file, unpacked; its images are not read."""
MAX_ENTRIES = 10_000
"""Files in a Word file."""
MAX_HEADINGS = 10_000
MAX_HEADING_CHARS = 200
PASSED_OVER = ("script", "style", "template", "noscript", "svg", "nav", "iframe", "object", "head")
"""Elements of HTML that hold no text of the page itself."""
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
CHARSET_BYTES = 4096
"""In which a page says its encoding; browsers look at 1,024."""
ENCODINGS = (
    *("utf-8", "utf-16", "utf-16le", "utf-16be", "us-ascii", "koi8-r", "koi8-u", "macintosh"),
    *(f"windows-125{number}" for number in range(9)),
    *(f"iso-8859-{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    *("gbk", "gb2312", "gb18030", "big5", "euc-jp", "shift_jis", "iso-2022-jp", "euc-kr"),
)
"""Those of pages that Python has, by the names of the WHATWG; loaded before the process gives up its rights."""
FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
"""Fields before a Markdown text, which would be read as a heading."""

Headings = list[tuple[int, int, str]]
"""Where each begins in the text, in characters; its level from 1; its words."""


class DocumentError(Exception):
    """A document is not read; the message says why."""


def load_encodings() -> None:
    """Load what decodes pages."""
    for name in ENCODINGS:
        codecs.lookup(name)
        codecs.getincrementaldecoder(name)


def read_document(encoded: bytes, form: DocumentForm) -> tuple[str, Headings]:
    """The text of a file, and its headings; a plain text has none.

    Raises:
        DocumentError: it is damaged, or has more in it than is read.
    """
    try:
        match form:
            case "text":
                return _decoded(encoded), []
            case "markdown":
                text = _decoded(encoded)
            case "html":
                text = _from_html(encoded)
            case "docx":
                text = _from_html(_html_of_docx(encoded))
        return text, _headings(text)
    except RecursionError:
        raise DocumentError("its elements are nested too deep") from None
    except MemoryError:
        raise DocumentError("it takes more memory than the file of a document may") from None
    except DocumentError:
        raise
    except Exception as error:  # of parsers, of many types
        raise DocumentError(f"it is damaged: {type(error).__name__}") from error


def _decoded(encoded: bytes) -> str:
    """UTF-8, UTF-16 with a byte order mark, else Windows-1252, as browsers read what says nothing."""
    if encoded.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = encoded.decode("utf-16", errors="replace")
    elif b"\0" in encoded:
        raise DocumentError("it has zero bytes, which no text has")
    else:
        try:
            text = encoded.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = encoded.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _from_html(encoded: bytes | str) -> str:
    import bs4
    import markdownify

    soup = bs4.BeautifulSoup(_decoded_html(encoded) if isinstance(encoded, bytes) else encoded, "html.parser")
    for element in soup(PASSED_OVER):
        element.decompose()
    converter = markdownify.MarkdownConverter(
        heading_style="ATX", strip=["a", "img"], bullets="-",
        escape_asterisks=False, escape_underscores=False, escape_misc=False,
    )  # fmt: skip
    text: str = converter.convert_soup(soup.find("main") or soup)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _decoded_html(encoded: bytes) -> str:
    """The text of a page, whose encoding it may say itself."""
    said = CHARSET.search(encoded[:CHARSET_BYTES])
    if said is not None and (name := said[1].decode().lower()) in ENCODINGS:
        return encoded.decode(name, errors="replace")
    return _decoded(encoded)


def _html_of_docx(encoded: bytes) -> str:
    import mammoth

    try:
        with zipfile.ZipFile(io.BytesIO(encoded)) as archive:
            _check_archive(archive)
        drawn = mammoth.images.img_element(lambda _: {"src": ""})
        return str(mammoth.convert_to_html(io.BytesIO(encoded), convert_image=drawn, style_map=STYLES).value)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError) as error:
        raise DocumentError("the Word file is damaged, encrypted, or of the form before 2007 (.doc)") from error


STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
"""Beside mammoth's own, which know headings."""


def _check_archive(archive: zipfile.ZipFile) -> None:
    """Refuse what unpacks to far more than a document has; `zipfile` reads no more of a file than is declared."""
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise DocumentError(f"the Word file has {len(entries)} files in it; at most {MAX_ENTRIES} are read")
    xml = [one for one in entries if one.filename.lower().endswith((".xml", ".rels"))]
    if (num_bytes := sum(one.file_size for one in xml)) > MAX_XML_BYTES:
        raise DocumentError(f"the Word file unpacks to {num_bytes} bytes of XML; at most {MAX_XML_BYTES} are read")
    for one in xml:
        if b"<!DOCTYPE" in archive.read(one) or b"<!ENTITY" in archive.read(one):
            raise DocumentError("the Word file declares entities, which no Word file does")


def _headings(text: str) -> Headings:
    """The headings of a Markdown text, as CommonMark has them: not those in blocks of code."""
    matter = FRONT_MATTER.match(text)
    begin = matter.end() if matter else 0
    lines = [begin]
    for line in text[begin:].splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    tokens: list[Any] = _parser().parse(text[begin:])
    found: Headings = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.map and len(found) < MAX_HEADINGS:
            words = " ".join(inline.content.split())[:MAX_HEADING_CHARS]
            found.append((lines[token.map[0]], int(token.tag[1]), words.strip("*_` ")))
    return found


def _parser() -> MarkdownIt:
    """Of blocks alone: what stands in a line is not taken apart."""
    return MarkdownIt("commonmark").disable("inline")
