"""The README's table of clients, as code: the client that its line builds.

In: a package's name and the server's address. Out: what the line evaluates to.
"""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
ADDRESS = "http://127.0.0.1:8000"


def readme_client(package: str, url: str, **names: Any) -> Any:
    """Evaluate the line of a package's row, for the live server.

    Args:
        package: first cell of the row.
        url: stands where the README has its own address.
        names: what the line may use.
    """
    (line,) = re.findall(rf"^\| `{re.escape(package)}` \|.*\| `([^`]+)` \|$", README.read_text(), re.MULTILINE)
    assert ADDRESS in line
    return eval(line.replace(ADDRESS, url), names)
