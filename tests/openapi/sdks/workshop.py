"""A folder of its own for each generator: what its use-site is written in, an environment, and commands run there.

Everything lies below `.sdks/`, which git ignores. Sources are copied afresh and what was generated is removed, so that
nothing of an earlier run is tested; only a Python environment is kept, and pip brings it up to the requirements.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = Path(__file__).parent
KEPT = "environment"
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


class Workshop:
    """The folder of one generator.

    Attributes:
        folder: where commands run.
    """

    def __init__(self, name: str, *sources: str, document: str = "openapi.json") -> None:
        self.folder = ROOT / ".sdks" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            if old.name != KEPT:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for source in sources:
            shutil.copytree(SOURCES / source, self.folder, dirs_exist_ok=True)
        shutil.copy(ROOT / document, self.folder / "openapi.json")

    @property
    def environment(self) -> Path:
        """Folder of what stays from run to run: Python's packages, Go's cache."""
        return self.folder / KEPT

    def install_python(self) -> None:
        """Make the environment hold what `requirements.txt` says."""
        if not self.environment.exists():
            self.run(sys.executable, "-m", "venv", KEPT)
        self.python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")

    def install_node(self) -> None:
        """Install what `package-lock.json` says."""
        self.run("npm", "ci", "--no-audit", "--no-fund")

    def python(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        """Run the environment's Python."""
        return self.run(f"{KEPT}/bin/python", *arguments, env=env)

    def tool(self, name: str, *arguments: str) -> str:
        """Run a command that the environment's packages brought."""
        return self.run(f"{KEPT}/bin/{name}", *arguments)

    def npm(self, script: str, *arguments: str) -> str:
        """Run a script of `package.json`."""
        return self.run("npm", "run", "--silent", script, "--", *arguments)

    def run(self, *command: str, env: dict[str, str] | None = None) -> str:
        """Run a command.

        Args:
            command: the program with its arguments.
            env: variables beside those of this process.

        Returns:
            What it wrote to either stream; when it fails, the test fails with that.
        """
        program = str(self.folder / command[0]) if "/" in command[0] else command[0]
        ran = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=plain_environ() | (env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ran.returncode:
            pytest.fail(f"{' '.join(command)}\n{ran.stdout}", pytrace=False)
        return ran.stdout


def plain_environ() -> dict[str, str]:
    """This environment without what would let the project's own packages in."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}
