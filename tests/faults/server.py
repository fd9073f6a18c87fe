"""What a test sets so that a live server's engine has the faults of this folder."""

import os
from pathlib import Path


def faulty_environ(folder: Path) -> dict[str, str]:
    """Environment of a server whose engine looks into `folder` for what to do wrong.

    Args:
        folder: where the test puts and removes the files that `troubled.py` names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "FAULTS": str(folder)}
