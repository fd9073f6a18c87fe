"""What a source holds, by which a run that names no model takes one; what the server's models are."""

from contextlib import closing
from pathlib import Path

import orjson
import pytest

from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.video_process import VideoProcesses
from service.ingest.sending.answers import embedders
from service.ingest.sources import file_kinds
from service.ingest.sources.documents import Documents
from service.ingest.sources.folder import Folder
from service.ingest.sources.pdf import PdfPages
from service.ingest.sources.video import VideoSegments
from service.ingest.taken import holds_media
from tests.conftest import LiveServer
from tests.ingest.program import ran


@pytest.mark.parametrize(
    ("names", "media"), [(["a.png"], True), (["a.png", "z/notes.txt"], False), (["a.md", "b.mp4"], False), ([], False)]
)
def test_a_folder_with_documents_needs_no_model_that_sees(tmp_path: Path, names: list[str], media: bool) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    with closing(PdfProcesses()) as pdfs, closing(VideoProcesses()) as videos, closing(Documents()) as documents:
        folder = Folder(tmp_path, "", file_kinds(PdfPages(pdfs), VideoSegments(videos, 0), documents))
        assert holds_media(folder) is media
        assert sum(files.total() for files in folder.kinds().values()) == len(names) == folder.count()
        folder.left_out = frozenset({"image", "video"})
        assert folder.count() == len([name for name in names if name.endswith((".md", ".txt"))])


def test_a_reranker_is_no_embedder() -> None:
    card = {"modalities": ["text"], "max_vectors_per_input": 1}
    cards = [card | {"id": "a", "outputs": ["dense"]}, card | {"id": "b", "outputs": []}, card | {"id": "older"}]
    assert [one["id"] for one in embedders(orjson.dumps({"data": cards}))] == ["a", "older"]


def test_a_folder_without_a_file_that_is_read_is_said_to_be_one(builtin: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.rst").write_text("x")
    ended = ran(tmp_path / "in", "--to", tmp_path / "out.jsonl", "--server", builtin.url)
    assert ended.returncode == 0
    assert "SOURCE: the folder has no document, image, PDF or video; --glob selects" in ended.stderr


@pytest.mark.parametrize(("glob", "said"), [("", True), ("*.txt", False)])
def test_files_of_a_mixed_folder_that_are_not_read_are_counted(
    builtin: LiveServer, tmp_path: Path, glob: str, said: bool
) -> None:
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    for name in ("a.txt", "b.rst", "c.pptx", "d.RST", ".DS_Store", ".hidden/e.rst"):
        (tmp_path / "in" / name).write_text("x")
    flags = ["--glob", glob] if glob else []
    ended = ran(tmp_path / "in", "--to", tmp_path / "out.jsonl", "--server", builtin.url, *flags)
    assert ended.returncode == 0
    assert ("leaves out 3 files (.rst, .pptx) of kinds that are not read" in ended.stderr) is said
    assert ("3 files were left out" in ended.stderr) is said
