"""A folder that may be read, what lies around it, and 120 ways to ask for the one and to try for the other."""

import os
import socket
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

CLIMBS = (
    "..", "%2e%2e", ".%2e", "%2E.", "..%2f", "%2e%2e%2f", "..%5c", "..\\", "%252e%252e", "..;", "%c0%ae%c0%ae",
    "\uff0e\uff0e", "..%00", "...", "....//", "./..", "%2e/%2e%2e", "..%20", "%2e%2e;", ".%00.", "..%0a",
)  # fmt: skip
ABSOLUTE = (
    "/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/fd/0",
    "/proc/self/root/etc/passwd", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/dev/tty", "/dev/urandom", "/", "/root",
    "/var/run/secrets/kubernetes.io/serviceaccount/token", "/sys/kernel/notes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PathCase:
    """A source as a client writes it, and whether it may be read."""

    source: str
    is_allowed: bool = False


def build(folder: Path, inside: bytes, secret: bytes) -> Path:
    """Make the tree; the folder that is allowed.

    Args:
        folder: where.
        inside: what files hold that may be read: an image.
        secret: what all others hold: another image, so that nothing but the path keeps it from being read.
    """
    allowed = folder / "allowed"
    (allowed / "below" / "deeper").mkdir(parents=True)
    (folder / "outside").mkdir()
    (folder / "allowed2").mkdir()
    for path in ("secret.png", "outside/a.png", "allowed2/a.png"):
        (folder / path).write_bytes(secret)
    for path in ("a.png", "my cat.png", "\u00fc.png", "below/b.png", "below/deeper/c.png", "..png", "a%20b.png"):
        (allowed / path).write_bytes(inside)
    _links(allowed, folder)
    os.mkfifo(allowed / "fifo.png")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(allowed)  # a socket's path is at most 108 bytes
    listener.bind("socket.png")
    os.chdir(here)
    with (allowed / "sparse.png").open("wb") as file:
        file.truncate(1 << 40)
    return allowed


def _links(allowed: Path, folder: Path) -> None:
    links: dict[str, str | Path] = {
        "out.png": folder / "secret.png", "relative.png": "../secret.png", "in.png": allowed / "a.png",
        "near.png": "a.png", "chain.png": "out.png", "loop.png": "loop.png", "dangling.png": "nowhere",
        "outside": folder / "outside", "up": "..", "here": ".", "root": "/", "below/far": "../../outside",
        "proc.png": "/proc/self/environ",
    }  # fmt: skip
    for name, target in links.items():
        (allowed / name).symlink_to(target)


def path_cases(allowed: Path) -> list[PathCase]:
    """120 of them."""
    base, secret = f"file://{allowed}", allowed.parent / "secret.png"
    good = [
        "a.png", "below/b.png", "below/deeper/c.png", "my%20cat.png", "my cat.png", "%C3%BC.png", "\u00fc.png",
        "..png", "%61.png", "a%2520b.png",
    ]  # fmt: skip
    bad = [f"/{climb}/secret.png" for climb in CLIMBS]
    bad += [f"/below/{climb}/{climb}/secret.png" for climb in CLIMBS]
    bad += [
        "/out.png", "/relative.png", "/in.png", "/near.png", "/chain.png", "/loop.png", "/dangling.png", "/proc.png",
        "/outside/a.png", "/up/secret.png", "/up/allowed/a.png", "/here/a.png", "/root/etc/passwd", "/below/far/a.png",
        "/fifo.png", "/socket.png", "/sparse.png", "/below", "/below/", "", "/", "//a.png", "/a.png/", "/a.png/..",
        "/missing.png", "/a.png?x", "/a.png#x", "/a.png%00.jpg", "/a.png%0a", "2/a.png", "/%ff%fe", "/./a.png",
        "/" + "a/" * 2000, "/a.png::$DATA",
    ]  # fmt: skip
    forms = [
        f"file:{secret}", f"file:/{secret}", f"file://localhost{secret}", f"file://host{secret}", f"file:///{secret}",
        f"file:///{allowed}/a.png", f"file:\\\\{secret}", f"FILE://{secret}", f"file://{secret}", f" file://{secret}",
        f"url:file://{secret}", f"local_file://{secret}", f"{secret}", "../secret.png", f"{allowed}/a.png", "a.png",
    ]  # fmt: skip
    refused = [base + path for path in bad] + [f"file://{path}" for path in ABSOLUTE] + forms
    names = [str(path) for path in base64_paths(secret)]
    listed = [PathCase(f"{base}/{path}", is_allowed=True) for path in good]
    listed += [PathCase(source) for source in [*refused, *names]]
    return listed


def base64_paths(secret: Path) -> list[Path]:
    """Paths of images that are base64 as well: letters, digits and slashes, a multiple of four."""
    folder = secret.parent / "b64"
    while len(str(folder)) % 4 != 3 or not str(folder).replace("/", "").isalnum():
        folder = Path(tempfile.gettempdir()) / f"cenote{uuid.uuid4().hex}{'x' * (len(str(folder)) % 4)}"
    folder.mkdir(exist_ok=True)
    found = [folder / name for name in ("abcd", "abcdefgh")]
    for path in found:
        path.write_bytes(secret.read_bytes())
    return found
