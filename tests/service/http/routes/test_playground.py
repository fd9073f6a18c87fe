"""The playground's files, without a browser: what they are, under which headers, and that none leads elsewhere."""

import re

import pytest

from service.playground.files import FILES, PAGE, PREFIX
from tests.conftest import ROOT, LiveServer

PATHS = ("/", *FILES)
FOLDER = ROOT / "service" / "playground" / "page"


def test_every_file_of_the_folder_is_served_and_no_other() -> None:
    names = {path.name for path in FOLDER.iterdir()} - {"index.html", "types.d.ts"}
    assert {path.removeprefix(PREFIX) for path in FILES if "/samples/" not in path} == names
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
    named = set(re.findall(r'(?:href|src)="(playground/[^"]+)"', PAGE.content.decode()))
    modules = {path: file.content.decode() for path, file in FILES.items() if path.endswith(".js")}
    imported = {
        f"playground/{name}"
        for text in modules.values()
        for name in re.findall(r'^import .* from "\./(.+)";$', text, re.M)
    }
    assert {f"/{name}" for name in named | imported} <= set(FILES)
    assert {path.removeprefix("/") for path in modules} == {name for name in named | imported if name.endswith(".js")}
