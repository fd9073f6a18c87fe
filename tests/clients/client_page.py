"""The table of docs/clients.md, as code: the client that its line builds.

In: a package's name and the server's address. Out: what the line evaluates to.
"""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
ADDRESS = "http://127.0.0.1:8000"


def page_client(package: str, url: str, **names: Any) -> Any:
    """Evaluate the line of a package's row, for the live server.

    Args:
        package: first cell of the row.
        url: stands where the page has its own address.
        names: what the line may use.
    """
    (line,) = re.findall(
        rf"^\| <a id=\"[\w-]+\"></a>`{re.escape(package)}` \|.*\| `([^`]+)` \|$", PAGE.read_text(), re.MULTILINE
    )
    assert ADDRESS in line
    return eval(line.replace(ADDRESS, url), names)
