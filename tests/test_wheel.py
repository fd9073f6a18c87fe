"""The wheel: what a server needs, and not what trained and measured the built-in models."""

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message

import pytest
from markdown_it import MarkdownIt

from tests.conftest import ROOT

pytest.importorskip("hatchling")
pytest.importorskip("hatch_fancy_pypi_readme")
BUILTIN = "service/model/builtin/"
WEIGHTS = {f"{BUILTIN}{model}/model.safetensors" for model in ("checkpoint", "reranker")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},  # nothing is compiled
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_training_scenes_and_scoring_are_not_packed(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {"service/cli.py", "service/openapi.json", "service/py.typed", "schemas/errors.py"} <= names
    packed = {name for name in names if name.startswith(BUILTIN)}
    assert packed >= WEIGHTS
    assert not any("cenote_builtin" in name for name in names)
    folders = {name.removeprefix(BUILTIN).partition("/")[0] for name in packed}
    assert folders == {"__init__.py", "checkpoint", "reranker", "samples"}


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(wheel.read(name))


def links_of(page: str) -> list[str]:
    """Targets of the page's links and images, as they are rendered."""
    blocks = MarkdownIt("commonmark").enable("table").parse(page)
    inline = [token for block in blocks for token in block.children or ()]
    return [str(token.attrs[key]) for token in inline for key in ("href", "src") if key in token.attrs]


def test_links_of_an_indexs_page_are_absolute_and_lead_to_files_of_the_release(metadata: Message) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", ()))
    page, own = metadata.get_payload(decode=True), (ROOT / "README.md").read_text()
    assert isinstance(page, bytes)
    assert metadata["Description-Content-Type"] == "text/markdown"
    start = {kind: f"{urls['Repository']}/{kind}/v{metadata['Version']}/" for kind in ("blob", "raw")}
    expected = []
    for link in links_of(own):
        kind = "raw" if link.endswith(".png") else "blob"
        is_absolute = link.startswith(("https://", "http://"))
        assert is_absolute or (ROOT / link.partition("#")[0]).is_file(), link
        expected.append(link if is_absolute else start[kind] + link)
    assert links_of(page.decode()) == expected
    assert sum(link.startswith(start["blob"]) for link in expected) > 30
    assert any(link.startswith(start["raw"]) for link in expected)


def test_the_projects_urls_lead_to_its_repository(metadata: Message) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", ()))
    assert set(urls) >= {"Repository", "Changelog"}
    assert all(url.startswith(urls["Repository"]) for url in urls.values())
    assert (ROOT / urls["Changelog"].partition("/blob/main/")[2]).is_file()
