"""Documents: their text as Markdown, where their headings stand, and what is refused instead of read."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from service.ingest.files import document_process
from service.ingest.item import BadRecord, SourceItem
from service.ingest.sources.chunks import chunk_items, cut_at_headings
from service.ingest.sources.documents import Documents, sections_of
from service.ingest.sources.files import kind_of
from service.ingest.sources.folder import Folder
from service.workers.document_worker import DOCX

MARKDOWN = """---
title: fields
---
before

# Guide

## Install

Run it.

```sh
# no heading
```

### On Linux
apt

Use
===
words of *use*
"""
HTML = """<html><head><title>t</title><style>p{}</style></head><body><nav>menu</nav><main><h1>Guide &amp; more</h1>
<p>An <a href="http://h/">intro</a>.</p><script>evil()</script><h2>Install</h2><table><tr><th>a</th><th>b</th></tr>
<tr><td>1</td><td>2</td></tr></table><ul><li>x_y</li></ul></main></body></html>"""
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@pytest.fixture(scope="module")
def documents() -> Iterator[Documents]:
    with closing(Documents()) as one:
        yield one


def docx(*paragraphs: tuple[str, str], prolog: str = "", **more: str) -> bytes:
    """A Word file of paragraphs, each a style and words."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>'
        for style, words in paragraphs
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in (1, 2)
    )
    files = DOCX | {
        "word/document.xml": f'{prolog}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
        "word/_rels/document.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="r1" Target="styles.xml" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/styles"/></Relationships>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | more).items():
            archive.writestr(name, content)
    return packed.getvalue()


def read(documents: Documents, folder: Path, name: str, content: bytes) -> SourceItem | BadRecord:
    (folder / name).write_bytes(content)
    reader = kind_of(folder / name, documents.by_suffix)
    assert reader is not None
    (item,) = reader.items(folder / name, name)
    return item


def sections(item: SourceItem | BadRecord) -> list[tuple[list[str], str]]:
    """Headings and text of each."""
    assert isinstance(item, SourceItem), item
    assert item.text is not None
    chunks = list(chunk_items(item, cut_at_headings(item.text, item.sections)))
    assert all(item.text[chunk.metadata["chunk"]["start"] :].startswith(chunk.text or "?") for chunk in chunks)
    return [(chunk.metadata["headings"], chunk.text or "") for chunk in chunks]


def test_a_chunk_stands_under_the_headings_that_markdown_gives_it(documents: Documents, tmp_path: Path) -> None:
    item = read(documents, tmp_path, "a.md", MARKDOWN.encode())
    assert sections(item) == [
        ([], "---\ntitle: fields\n---\nbefore"),
        (["Guide", "Install"], "# Guide\n\n## Install\n\nRun it.\n\n```sh\n# no heading\n```"),
        (["Guide", "Install", "On Linux"], "### On Linux\napt"),
        (["Use"], "Use\n===\nwords of *use*"),
    ]
    assert isinstance(item, SourceItem)
    assert (item.id, item.metadata, item.text) == ("a.md", {"path": "a.md"}, MARKDOWN)


def test_html_and_word_have_the_same_form(documents: Documents, tmp_path: Path) -> None:
    assert sections(read(documents, tmp_path, "a.html", HTML.encode())) == [
        (["Guide & more"], "# Guide & more\n\nAn intro."),
        (["Guide & more", "Install"], "## Install\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- x_y"),
    ]
    word = docx(("Heading1", "Guide"), ("", "An intro &amp; more."), ("Heading2", "Install"), ("", "na\u00efve"))
    assert sections(read(documents, tmp_path, "a.docx", word)) == [
        (["Guide"], "# Guide\n\nAn intro & more."),
        (["Guide", "Install"], "## Install\n\nna\u00efve"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfna\xc3\xafve\r\n# no\r", "na\u00efve\n# no\n"),
        ("na\u00efve".encode("utf-16"), "na\u00efve"),
        (b"na\xefve", "na\u00efve"),
    ],
)
def test_plain_texts_are_read_as_they_are_encoded(
    documents: Documents, tmp_path: Path, content: bytes, text: str
) -> None:
    item = read(documents, tmp_path, "a.txt", content)
    assert isinstance(item, SourceItem)
    assert (item.text, item.is_document) == (text, True)
    assert sections(item) == [([], text.strip())]


BOMB = docx(("", "a"), **{"word/media/a.xml": "0" * (40 << 20)})
ENTITIES = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
REFUSED = {
    "no.docx": (b"\xd0\xcf\x11\xe0 of 2003", "damaged, encrypted, or of the form before 2007"),
    "cut.docx": (docx(("", "a"))[:-40], "damaged"),
    "empty.docx": (docx()[:0], "the file is empty"),
    "bomb.docx": (BOMB, "unpacks to 41"),
    "many.docx": (docx(**{f"a{number}": "" for number in range(10_001)}), "files in it; at most 10000 are read"),
    "entities.docx": (docx(("", "&b;"), prolog=ENTITIES), "declares entities"),
    "deep.docx": (docx(**{"word/document.xml": "<a>" * 50_000 + "</a>" * 50_000}), "nested too deep"),
    "torn.docx": (docx(**{"word/document.xml": "<a>"}), "it is damaged: ExpatError"),
    "deep.html": (b"<div>" * 5_000 + b"a", "nested too deep"),
    "blank.html": (b"<p> </p><script>a</script>", "there is no text in it"),
    "binary.txt": (b"a\0b", "zero bytes"),
    "large.txt": (b"a" * 5_001, "has 5001 bytes; at most 5000 are read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_has_a_reason_and_the_next_file_is_read(
    documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, words = REFUSED[name]
    if name == "large.txt":
        monkeypatch.setattr(document_process, "MAX_DOCUMENT_BYTES", 5_000)
    bad = read(documents, tmp_path, name, content)
    assert isinstance(bad, BadRecord), bad
    assert bad.id == name
    assert words in bad.reason.message
    assert sections(read(documents, tmp_path, "fine.html", b"<h1>a</h1>b")) == [(["a"], "# a\n\nb")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'<meta charset="shift_jis"><p>' + "\u6f22\u5b57".encode("shift_jis"), "\u6f22\u5b57"),
        (b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>\xc4\xc1", "\u0434\u0430"),
        ("<p>na\u00efve".encode(), "na\u00efve"),
        (b"<meta charset=no-such><p>na\xefve", "na\u00efve"),
    ],
)
def test_a_page_is_read_as_it_says_that_it_is_encoded(
    documents: Documents, tmp_path: Path, content: bytes, text: str
) -> None:
    assert sections(read(documents, tmp_path, "a.html", content)) == [([], text)]


def test_a_document_that_takes_too_long_is_given_up(
    documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_process, "DEADLINE_S", 0.05)
    bad = read(documents, tmp_path, "slow.html", b"<p>a</p>" * 20_000)
    assert isinstance(bad, BadRecord)
    assert "cannot be read within 0.05 s" in bad.reason.message


def test_a_folder_has_documents_among_its_files(documents: Documents, tmp_path: Path) -> None:
    for name in ("b.md", "a.TXT", "c.rst", "d.png"):
        (tmp_path / name).write_text("words")
    found = list(Folder(tmp_path, "", documents.by_suffix).items())
    assert [item.id for item in found] == ["a.TXT", "b.md", "d.png"]
    assert Folder(tmp_path, "", documents.by_suffix).count() == 3


def test_a_heading_with_nothing_under_it_belongs_to_the_next() -> None:
    text = "# A\n## B\nx\n# C\n"
    found = list(sections_of(text, [(0, 1, "A"), (4, 2, "B"), (11, 1, "C")]))
    assert [(one.start, one.headings) for one in found] == [(0, ("A", "B")), (11, ("C",))]
    assert not SourceItem("a", b"", 0).is_document
