"""Go: the generated module builds without any other module, and a program runs with its types."""

import pytest

from tests.openapi.sdks.nightly.conftest import Generator
from tests.openapi.sdks.workshop import Workshop

OFFLINE = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}


@pytest.fixture(scope="module")
def workshop(generator: Generator) -> Workshop:
    workshop = generator.generate("go")
    caches = {name: str(workshop.environment / name) for name in ("GOCACHE", "GOPATH")}
    workshop.run(generator.go, "vet", ".", env=OFFLINE | caches)
    workshop.run(generator.go, "build", "-o", "usage", ".", env=OFFLINE | caches)
    return workshop


def test_the_module_and_its_use_compile(workshop: Workshop) -> None:
    assert (workshop.folder / "usage").is_file()
    assert not (workshop.folder / "go.sum").exists(), "another module was needed"


def test_the_program_gets_typed_answers_from_a_live_server(workshop: Workshop, live: tuple[str, str]) -> None:
    workshop.run("./usage", *live)
