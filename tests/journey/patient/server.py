"""What a test sets so that a live server gives up no look-up in a shared tier that is merely slow."""

import os
from pathlib import Path


def patient_environ() -> dict[str, str]:
    """Environment of a server whose processes have the deadlines of `sitecustomize.py` beside this file."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))}
