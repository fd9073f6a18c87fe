"""`python -m service serve` is `cenote serve`, whose script comes here, too."""

import sys


def main() -> None:
    """Run a command where the system can: what the others import is not there on Windows."""
    if sys.platform == "win32":
        sys.exit("cenote: got Windows, expected Linux or macOS; run it in WSL 2 or in a container, see docs/systems.md")
    from service.cli import main as run

    run()


if __name__ == "__main__":
    main()
