"""TypeScript by openapi-generator, from the whole document: the classes and their use compile."""

from tests.openapi.sdks.nightly.conftest import Generator


def test_the_classes_and_their_use_compile(generator: Generator) -> None:
    workshop = generator.generate("typescript_fetch", document="openapi.json")
    workshop.install_node()
    workshop.run("npx", "--no-install", "tsc", "--project", "tsconfig.json")
