"""A server that is confined as the container is, whose files are this machine's: no image can be pulled everywhere."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, children_of

SCRIPT = Path(__file__).with_name("confined.sh")
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc")
UID = 10001
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")


def image_environment() -> dict[str, str]:
    """Environment that the Dockerfile sets, for a server outside of an image."""
    return {
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_ARENA_MAX": "2",
        "HOME": "/var/cache/cenote",
        "XDG_CACHE_HOME": "/var/cache/cenote",
        "HF_HOME": "/models",
        "HF_HUB_OFFLINE": "1",
        "CENOTE_LOG_FORMAT": "human",
    }


def empty_root(folder: Path) -> Path:
    """A folder that stands for an image's root: places to mount on, and the links of a merged /usr."""
    root = folder / "root"
    for place in ("proc", "sys", "dev", "tmp", "models", "var/cache/cenote"):
        (root / place).mkdir(parents=True)
    root.chmod(0o755)
    return root


def python_mounts() -> list[str]:
    """This machine's system, Python, environment and repository, to be read at their own paths."""
    prefixes = {sys.prefix, sys.base_prefix, str(ROOT), *_linked_environments()}
    paths = [*SYSTEM, *sorted(path for path in prefixes if not path.startswith(SYSTEM))]
    return [f"ro:{path}:{path}" for path in paths]


def _linked_environments() -> set[str]:
    """Folders outside that .pth files or PYTHONPATH bring in."""
    places = {str(Path(path).resolve()) for path in sys.path if path and Path(path).is_dir()}
    known = (sys.prefix, sys.base_prefix, str(ROOT))
    return {place for place in places if not place.startswith(known)}


def why_not() -> str | None:
    """Why nothing can be confined here, if so: not every sandbox lets its root mount."""
    if os.geteuid() != 0:
        return "mounts and another user need root"
    probe = [*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    is_allowed = subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return None if is_allowed else "no mounts are allowed here"


def command(root: Path, mounts: list[str], *arguments: str) -> list[str]:
    """The command line that runs something confined."""
    return [*UNSHARE, str(SCRIPT), str(root), *mounts, "--", *arguments]


def first_process(process: "subprocess.Popen[bytes]") -> int:
    """The process that is number 1 inside, by its number outside."""
    return children_of(process.pid)[0]


def status_of(pid: int) -> dict[str, str]:
    """Fields of Linux's status of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def give_away(folder: Path) -> Path:
    """A folder that the confined user owns, alone."""
    folder.mkdir(mode=0o700)
    os.chown(folder, UID, UID)
    return folder
