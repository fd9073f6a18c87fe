"""PHP by openapi-generator: every generated file parses, and a program runs with its classes, on Debian's Guzzle."""

from tests.openapi.sdks.nightly.conftest import Generator


def test_the_classes_parse_and_the_program_gets_answers(generator: Generator, live: tuple[str, str]) -> None:
    workshop = generator.generate("php")
    for source in sorted((workshop.folder / "generated" / "lib").rglob("*.php")):
        workshop.run("php", "-l", str(source))
    workshop.run("php", "usage.php", *live)
