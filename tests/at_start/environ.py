"""The environment of a server whose processes run a `sitecustomize.py` of the tests."""

import os
from pathlib import Path


def customized_environ(folder: Path, **variables: str) -> dict[str, str]:
    """PYTHONPATH with the `folder` of a `sitecustomize.py`, which Python runs at start, and further variables.

    It may import `after_import`.
    """
    path = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path)), **variables}
