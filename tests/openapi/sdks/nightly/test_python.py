"""Python by openapi-generator: pydantic models that mypy accepts, and a program that uses them without an `Any`."""

import pytest

from tests.openapi.sdks.nightly.conftest import Generator
from tests.openapi.sdks.workshop import Workshop


@pytest.fixture(scope="module")
def workshop(generator: Generator) -> Workshop:
    workshop = generator.generate("python")
    workshop.install_python()
    return workshop


def test_the_package_and_its_use_pass_mypy(workshop: Workshop) -> None:
    """Also refused are the wrong requests of `usage/refused.py`: mypy reports a `type: ignore` that is not needed."""
    assert "no issues found" in workshop.python("-m", "mypy")


def test_the_program_gets_typed_answers_from_a_live_server(workshop: Workshop, live: tuple[str, str]) -> None:
    workshop.python("-m", "usage", *live, env={"PYTHONPATH": "generated"})
