"""Extras that documents and hints name can be installed, from a checkout and from a release."""

import re
import subprocess
import tomllib

from tests.conftest import ROOT

EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_every_extra_that_is_named_can_be_installed_from_a_checkout() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs", "deploy", "service"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = {path: (ROOT / path).read_text() for path in listed.stdout.split() if path.endswith((".md", ".py"))}
    installed = [
        one for text in texts.values() for one in re.findall(r"install (?:-\S+ )*'(?:\.|cenote)\[([a-z,]+)\]'", text)
    ]
    named = {extra for extras in installed for extra in extras.split(",")}
    assert {"video", "audio", "ray", "valkey", "otel"} <= named <= EXTRAS
