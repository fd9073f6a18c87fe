"""docs/ingest.md against the program: extras, flags, exit codes and numbers are those that there are."""

import argparse
import re
import tomllib

from service.ingest import command
from service.ingest.arguments import add_arguments
from service.ingest.progress import RunCounts
from service.ingest.sinks import SINKS
from service.ingest.sources.record import MAX_DEPTH
from tests.conftest import ROOT

PAGE = (ROOT / "docs/ingest.md").read_text()
SERVE = {
    *("--device", "--model", "--revision", "--media-store-bytes"),
    *("--max-body-bytes", "--max-media-bytes", "--max-video-s"),
}
"""Flags of `cenote serve` that the page names."""


def test_its_extras_are_of_the_checkout_and_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"pip install -e '\.\[(\w+)\]'", PAGE)
    assert named
    assert set(named) <= set(extras)
    assert "pip install 'cenote" not in PAGE, "there is no release yet"


def test_its_flags_are_those_of_the_program() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) <= flags | SERVE


def test_its_exit_codes_sinks_and_counts_are_those_of_the_program() -> None:
    codes = {command.DONE, command.STOPPED, command.WRONG_COMMAND, command.DEAD_LETTERS, command.TOO_MANY}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)} == codes
    assert all(f"`{kind}:" in PAGE for kind in SINKS)
    assert f"nested {MAX_DEPTH} deep" in PAGE
    shown = re.search(r'^\{"event":"progress".*', PAGE, re.MULTILINE)
    assert shown is not None
    assert all(f'"{name}":' in shown[0] for name in RunCounts.__slots__)
