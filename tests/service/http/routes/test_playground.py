"""The playground's files, without a browser: what they are, under which headers, and that none leads elsewhere."""

import re
from urllib.parse import urljoin

import pytest

from service.playground.files import DOCS_PREFIX, FILES, PAGE, PREFIX
from tests.conftest import ROOT, LiveServer

PATHS = ("/", *FILES)
FOLDER = ROOT / "service" / "playground" / "page"


def test_every_file_of_the_folders_is_served_and_no_other() -> None:
    names = {PREFIX + path.name for path in FOLDER.iterdir()} - {f"{PREFIX}index.html", f"{PREFIX}types.d.ts"}
    names |= {DOCS_PREFIX + path.name for path in (ROOT / "service" / "reference" / "page").iterdir()}
    assert {path for path in FILES if "/samples/" not in path} == names
    samples = {path.name for path in (ROOT / "service" / "model" / "builtin" / "samples").iterdir()}
    assert {path.removeprefix(f"{PREFIX}samples/") for path in FILES if "/samples/" in path} == samples


@pytest.mark.parametrize("path", PATHS)
def test_a_file_comes_whole_under_a_strict_policy(server: LiveServer, path: str) -> None:
    answer = server.http.get(path)
    assert answer.status_code == 200
    assert answer.content == (PAGE if path == "/" else FILES[path]).content
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"
    media_types = {"js": "text/javascript", "css": "text/css", "png": "image/png", "svg": "image/svg+xml"}
    expected = "text/html" if path == "/" else media_types[path.rpartition(".")[2]]
    assert answer.headers["content-type"].partition(";")[0] == expected


@pytest.mark.parametrize("path", ["/", f"{PREFIX}main.js"])
def test_who_has_a_file_is_not_sent_it_again(server: LiveServer, path: str) -> None:
    first = server.http.get(path)
    etag = first.headers["etag"]
    for condition in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        again = server.http.get(path, headers={"if-none-match": condition})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert "content-security-policy" in again.headers
    assert server.http.get(path, headers={"if-none-match": '"other"'}).content == first.content
    head = server.http.head(path)
    assert (head.content, head.headers["etag"]) == (b"", etag)
    assert int(head.headers["content-length"]) == len(first.content)


@pytest.mark.parametrize(
    "path",
    [PREFIX, "/playground", f"{PREFIX}index.html", f"{PREFIX}types.d.ts", f"{PREFIX}../files.py", f"{PREFIX}a/main.js"],
)
def test_nothing_else_is_below_it(server: LiveServer, path: str) -> None:
    assert server.http.get(path).status_code == 404


def test_nothing_is_inline_and_nothing_of_another_host_is_named() -> None:
    page = PAGE.content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", page)
    for path, file in {"/": PAGE, **FILES}.items():
        if file.media_type.startswith(("text/", "image/svg")):
            text = file.content.decode().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"""(?:https?:)?//[a-z0-9-]+\.|@import|\burl\(""", text), path
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), path


def test_every_module_and_sheet_that_is_named_is_there() -> None:
    named = {f"/{name}" for name in re.findall(r'(?:href|src)="(playground/[^"]+)"', PAGE.content.decode())}
    named |= {f"{DOCS_PREFIX}{name}" for name in ("main.js", "docs.css")}
    modules = {path: file.content.decode() for path, file in FILES.items() if path.endswith(".js")}
    imported = {
        urljoin(path, name)
        for path, text in modules.items()
        for name in re.findall(r'^import .*"(\.+/.+)";$', text, re.M)
    }
    assert named | imported <= set(FILES)
    assert modules.keys() == {name for name in named | imported if name.endswith(".js")}
