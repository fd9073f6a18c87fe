"""Ruby by openapi-generator: every generated file loads, and a program runs with its classes."""

from tests.openapi.sdks.nightly.conftest import Generator


def test_the_gem_loads_and_the_program_gets_answers(generator: Generator, live: tuple[str, str]) -> None:
    workshop = generator.generate("ruby")
    workshop.run("ruby", "usage.rb", *live)
