"""Settings with which a live server's engine has the faults of this folder."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.at_start.environ import customized_environ


def faulty_environ(folder: Path) -> dict[str, str]:
    """Environment of a server whose engine looks into `folder` for what to do wrong.

    Args:
        folder: where the test puts and removes the files that `troubled.py` names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return customized_environ(Path(__file__).parent, FAULTS=str(folder))


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
