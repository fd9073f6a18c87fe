"""One line in this process: `python -m tests.scoreboard.one NAME SIZE FOLDER`."""

import sys
from pathlib import Path

from tests import conftest
from tests.scoreboard.board import load_line, write_result

conftest.MODEST = (*conftest.MODEST, "--log-format", "json")  # the line `logs` reads what every server wrote

if __name__ == "__main__":
    name, size, folder = sys.argv[1:]
    write_result(load_line(name).run(int(size), Path(folder)), Path(folder))
