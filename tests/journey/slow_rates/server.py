"""Settings with which a live server takes itself for a slow one."""

from pathlib import Path

from tests.at_start.environ import customized_environ


def slow_environ() -> dict[str, str]:
    """Environment of a server whose processes have the rates of `sitecustomize.py` beside this file."""
    return customized_environ(Path(__file__).parent)
