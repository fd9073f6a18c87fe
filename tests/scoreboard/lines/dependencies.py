"""Row 22: no dependency is older than the release that fixed what the specification's ledger lists.

An audit against a live database of advisories needs the network; this is the part that does not.
"""

import re
import tomllib
from importlib.metadata import distributions, version
from pathlib import Path

from tests.conftest import ROOT
from tests.scoreboard.line import Result, line

FLOORS = {"pillow": (13, 0), "litestar": (2, 25), "torch": (2, 11), "transformers": (5, 17), "msgspec": (0, 22)}
"""The first release without a known fault that concerns us: pillow 13.0 two critical groups, litestar 2.25 five, torch
2.10 the last `weights_only` one; the others are what the code needs."""
NO_PICKLES = ("pickle5", "dill", "cloudpickle")
"""Nothing here may be a dependency of the service."""


@line(
    22,
    "installed and allowed versions against the floors of the advisory ledger",
    "none older",
    sizes=(1, 1),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [_too_old(name, floor) for name, floor in FLOORS.items()]
    found += [_allows_older(declared, name, floor) for name, floor in FLOORS.items()]
    found += [f"{name} is a dependency" for name in NO_PICKLES if any(_name(one) == name for one in declared)]
    notes = [note for note in found if note]
    num_installed = len({one.metadata["Name"] for one in distributions()})
    return Result(2 * len(FLOORS) + len(NO_PICKLES), len(notes), [*notes, f"{num_installed} packages installed"])


def _too_old(name: str, floor: tuple[int, ...]) -> str:
    return "" if _numbers(version(name)) >= floor else f"{name} {version(name)} is installed"


def _allows_older(declared: list[str], name: str, floor: tuple[int, ...]) -> str:
    least = next((found[1] for one in declared if _name(one) == name and (found := re.search(r">=([\d.]+)", one))), "0")
    return "" if _numbers(least) >= floor[: len(_numbers(least))] else f"pyproject.toml allows {name} {least}"


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_-]", requirement, maxsplit=1)[0]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text.partition("+")[0])[:2])
