"""openapi-python-client: a package that mypy accepts in strict mode, and a program that uses it without an `Any`."""

import pytest

from tests.openapi.sdks.workshop import Workshop

GENERATE = ("generate", "--fail-on-warning", "--meta", "none", "--config", "generator.yaml")


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    workshop = Workshop("openapi_python_client", "openapi_python_client")
    workshop.install_python()
    workshop.tool("openapi-python-client", *GENERATE, "--path", "openapi.json", "--output-path", "cenote_client")
    return workshop


def test_the_package_and_its_use_pass_mypy_strict(workshop: Workshop) -> None:
    """Also refused are the wrong requests of `usage/refused.py`: mypy reports a `type: ignore` that is not needed."""
    assert "no issues found" in workshop.python("-m", "mypy")


def test_no_field_and_no_answer_is_any(workshop: Workshop) -> None:
    num_types = int(workshop.python("find_any.py").split()[0])
    assert num_types > 100


def test_the_program_gets_typed_answers_from_a_live_server(workshop: Workshop, live: tuple[str, str]) -> None:
    workshop.python("-m", "usage", *live)
