"""`file:` URLs: what is below an allowed directory and a plain file is read, and nothing else is."""

import os
import threading
from pathlib import Path

import pytest

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.local_file import REFUSED, LocalFiles
from service.settings.settings import SettingsError


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A directory with an image, beside a secret."""
    folder = tmp_path / "images"
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "a.png").write_bytes(b"picture")
    (folder / "my cat ü.png").write_bytes(b"cat")
    (folder / "below" / "deeper" / "b.png").write_bytes(b"deeper")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "images2").mkdir()
    (tmp_path / "images2" / "c.png").write_bytes(b"secret")
    return folder


def read(folder: Path, url: str, max_bytes: int = 1000) -> bytes:
    return LocalFiles.of(str(folder)).read(url, max_bytes=max_bytes, location=ErrorLocation("input[0]", 2))


def refusal(folder: Path, url: str, max_bytes: int = 1000) -> MediaError:
    with pytest.raises(MediaError) as caught:
        read(folder, url, max_bytes)
    return caught.value


@pytest.mark.parametrize(("name", "content"), [("a.png", b"picture"), ("below/deeper/b.png", b"deeper"),
                                               ("my%20cat%20%C3%BC.png", b"cat"), ("my cat ü.png", b"cat"),
                                               ("%61.png", b"picture")])  # fmt: skip
def test_a_file_below_an_allowed_directory_is_read(allowed: Path, name: str, content: bytes) -> None:
    assert read(allowed, f"file://{allowed}/{name}") == content
    assert read(allowed, f"FILE://{allowed}/{name}") == content


@pytest.mark.parametrize(
    "path",
    ["/../secret.png", "/below/../../secret.png", "/%2e%2e/secret.png", "/.%2e/secret.png", "/..%2fsecret.png",
     "/%252e%252e/secret.png", "/a.png%00", "/a.png%00.jpg", "/./a.png", "//a.png", "/a.png/", "/a.png?x", "/a.png#x",
     "/..\\secret.png", "", "/", "2/c.png", "/below", "/missing.png", "/a.png/b", "/%ff", "/a.png\n", "/" + "x" * 5000],
)  # fmt: skip
def test_a_path_that_leaves_or_names_no_file_is_refused_in_one_sentence(allowed: Path, path: str) -> None:
    error = refusal(allowed, f"file://{allowed}{path}")
    assert (error.code, error.message, error.param, error.index) == (
        "media_source_refused", f"{REFUSED}.", "input[0]", 2,
    )  # fmt: skip


@pytest.mark.parametrize("url", ["file:a.png", "file:/{0}/a.png", "file://localhost{0}/a.png", "file://host{0}/a.png",
                                 "file:////{0}/a.png", "file:///etc/passwd", "file://", "file:///"])  # fmt: skip
def test_other_forms_and_other_places_are_refused(allowed: Path, url: str) -> None:
    assert refusal(allowed, url.format(allowed)).message == f"{REFUSED}."


def test_no_link_is_followed_inside_or_out(allowed: Path, tmp_path: Path) -> None:
    (allowed / "out.png").symlink_to(tmp_path / "secret.png")
    (allowed / "in.png").symlink_to(allowed / "a.png")
    (allowed / "folder").symlink_to(tmp_path)
    (allowed / "near").symlink_to(allowed / "below")
    for path in ("out.png", "in.png", "folder/secret.png", "near/deeper/b.png"):
        assert refusal(allowed, f"file://{allowed}/{path}").code == "media_source_refused"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices here")
def test_a_fifo_and_a_device_are_refused_without_waiting(allowed: Path) -> None:
    os.mkfifo(allowed / "fifo.png")
    for folder, name in ((allowed, "fifo.png"), (Path("/dev"), "zero")):
        assert refusal(folder, f"file://{folder}/{name}").code == "media_source_refused"


def test_a_file_that_is_too_large_is_refused_by_its_size(allowed: Path) -> None:
    with (allowed / "sparse.png").open("wb") as file:
        file.truncate(1 << 40)
    assert refusal(allowed, f"file://{allowed}/sparse.png").code == "media_too_large"
    assert read(allowed, f"file://{allowed}/a.png", max_bytes=7) == b"picture"
    assert refusal(allowed, f"file://{allowed}/a.png", max_bytes=6).code == "media_too_large"


def test_a_file_that_grows_is_read_up_to_the_limit_and_refused(allowed: Path) -> None:
    grown, stop = allowed / "log.png", threading.Event()
    grown.write_bytes(b"")

    def grow() -> None:
        with grown.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(bytes(4096))

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        while grown.stat().st_size < 1 << 20:
            pass
        assert refusal(allowed, f"file://{allowed}/log.png", max_bytes=1 << 20).code == "media_too_large"
    finally:
        stop.set()
        writer.join()


def test_a_directory_that_takes_the_place_of_an_allowed_one_is_not_allowed(allowed: Path, tmp_path: Path) -> None:
    files = LocalFiles.of(str(allowed))
    allowed.rename(tmp_path / "moved")
    (tmp_path / "images").symlink_to(tmp_path / "images2")
    with pytest.raises(MediaError):
        files.read(f"file://{allowed}/c.png", max_bytes=100)
    assert files.read(f"file://{allowed}/a.png", max_bytes=100) == b"picture"


def test_the_closest_of_several_directories_is_taken(allowed: Path) -> None:
    assert read(Path(f"{allowed},{allowed}/below"), f"file://{allowed}/below/deeper/b.png") == b"deeper"


@pytest.mark.parametrize("setting", ["images", "", "/etc/passwd", "/no/such/folder", "//etc", "/etc/../etc"])
def test_what_is_no_absolute_directory_stops_the_start(setting: str) -> None:
    with pytest.raises(SettingsError, match="--media-paths"):
        LocalFiles.of(setting)
