"""The environment of a server, whose processes run a `sitecustomize.py` of the tests."""

import os
from pathlib import Path

HERE = Path(__file__).parent


def customized_environ(folder: Path = HERE, **variables: str) -> dict[str, str]:
    """PYTHONPATH with the `folder` of a `sitecustomize.py`, which Python runs at start, and further variables.

    It has to import `after_import`.
    """
    path = [*dict.fromkeys((str(folder), str(HERE))), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path)), **variables}
