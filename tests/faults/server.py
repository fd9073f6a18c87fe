"""What a test sets so that a live server's engine has the faults of this folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def faulty_environ(folder: Path) -> dict[str, str]:
    """Environment of a server whose engine looks into `folder` for what to do wrong.

    Args:
        folder: where the test puts and removes the files that `troubled.py` names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "FAULTS": str(folder)}


@contextlib.contextmanager
def slowed(folder: Path, seconds: float) -> Iterator[Path]:
    """Steps that begin within the `with`, or until `slow` is removed, take so long; the file of a step under way."""
    fresh = folder / "slow.new"
    fresh.write_text(str(seconds))
    fresh.rename(folder / "slow")  # whole at once: an engine may be reading it
    try:
        yield folder / "slowing"
    finally:
        (folder / "slow").unlink(missing_ok=True)
