"""Java: the generated classes compile, without a stand-in for anything, and a program runs with them."""

import pytest

from tests.openapi.sdks.nightly.conftest import Generator
from tests.openapi.sdks.workshop import Workshop


@pytest.fixture(scope="module")
def workshop(generator: Generator) -> Workshop:
    workshop = generator.generate("java")
    generated = (workshop.folder / "generated" / "src" / "main").rglob("*.java")
    sources = sorted(str(path) for path in (*generated, *workshop.folder.glob("*.java")))
    workshop.run("javac", "-classpath", str(generator.jar), "-d", "classes", *sources)
    return workshop


def test_the_classes_and_their_use_compile(workshop: Workshop) -> None:
    assert (workshop.folder / "classes" / "Usage.class").is_file()


def test_the_program_gets_typed_answers_from_a_live_server(
    workshop: Workshop, generator: Generator, live: tuple[str, str]
) -> None:
    workshop.run("java", "-classpath", f"classes:{generator.jar}", "Usage", *live)
