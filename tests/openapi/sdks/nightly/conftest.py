"""openapi-generator as PyPI has it: a jar, for which Java is on the machine, and beside it the Go toolchain."""

from pathlib import Path

import pytest

from tests.openapi.sdks.workshop import Workshop

DOCUMENT = "openapi-sdk.json"


class Generator:
    """The generator's own environment."""

    def __init__(self) -> None:
        self._workshop = Workshop("generator", "nightly/generator", document=DOCUMENT)
        self._workshop.install_python()

    @property
    def jar(self) -> Path:
        """The generator, and inside it the Jackson that generated Java needs."""
        [jar] = (self._workshop.environment / "lib").glob("python*/site-packages/openapi_generator_cli/*.jar")
        return jar

    @property
    def go(self) -> str:
        """The toolchain's command."""
        return str(self._workshop.environment / "bin" / "go")

    def generate(self, language: str, document: str = DOCUMENT) -> Workshop:
        """The folder of a language with what its `generator.yaml` asks for."""
        workshop = Workshop(language, f"nightly/{language}", document=document)
        workshop.run("java", "-jar", str(self.jar), "generate", "--config", "generator.yaml")
        return workshop


@pytest.fixture(scope="session")
def generator() -> Generator:
    return Generator()
