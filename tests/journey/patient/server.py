"""Settings with which a live server gives up no look-up in a shared tier that is merely slow."""

from pathlib import Path

from tests.at_start.environ import customized_environ


def patient_environ() -> dict[str, str]:
    """Environment of a server whose processes have the deadlines of `sitecustomize.py` beside this file."""
    return customized_environ(Path(__file__).parent)
