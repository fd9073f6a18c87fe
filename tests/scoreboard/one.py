"""One line in this process: `python -m tests.scoreboard.one NAME SIZE FOLDER`."""

import sys
from pathlib import Path

from tests.scoreboard.board import load_line, write_result

if __name__ == "__main__":
    name, size, folder = sys.argv[1:]
    write_result(load_line(name).run(int(size), Path(folder)), Path(folder))
