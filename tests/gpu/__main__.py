"""`make check-gpu`: builds every kernel, checks each against its reference, and times kernels, model and server.

Each row is printed and written as it is measured. `--only` runs some parts; the page keeps what earlier calls on the
same card with the same versions have measured. Without a GPU it prints the same table with "not measured", says why,
and ends with 0. `--dry-run` runs the whole program on a CPU with tiny sizes, the kernels compiled by g++: it proves the
program, and its figures mean nothing.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from cenote_kernels import kernels_run_on
from tests.gpu import ceilings, images, kernels, model, served
from tests.gpu.page import NOT_MEASURED, Page, table
from tests.gpu.row import Row
from tests.gpu.stage import Stage
from tests.kernels.on_cpu import OnCpu

BUDGET_S = 450.0
"""No part begins after that; the call as a whole stays under eight minutes."""

Part = tuple[str, Sequence[str], Callable[[Stage], Iterator[Row]]]
PARTS: tuple[Part, ...] = (
    ("ceilings", ceilings.NAMES, ceilings.measure),
    ("kernels", kernels.NAMES, kernels.measure),
    ("model", model.NAMES, model.measure),
    ("images", images.NAMES, images.measure),
    ("served", served.NAMES, served.measure),
)
NAMES = tuple(name for _, names, _ in PARTS for name in names)


def main() -> int:
    """Run what the command line asks for; 1 when something is wrong, or misses its bar with `--strict`."""
    parser = argparse.ArgumentParser(prog="check-gpu", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the page here, and JSON beside it")
    parser.add_argument("--only", help=f"these parts besides the ceilings: {', '.join(name for name, *_ in PARTS)}")
    parser.add_argument("--strict", action="store_true", help="a missed bar is a failure too, not only a wrong result")
    parser.add_argument("--dry-run", action="store_true", help="run the program on the CPU; measures nothing")
    options = parser.parse_args()
    began = time.monotonic()
    stage, said = _stage(options.dry_run)
    if stage:
        stage.seconds_left = lambda: BUDGET_S - (time.monotonic() - began)
    wanted = {"ceilings", *options.only.split(",")} if options.only else {name for name, *_ in PARTS}
    keeps_page = options.write is not None and not options.dry_run
    page = Page(options.write, NAMES, said, lambda: time.monotonic() - began) if keeps_page else None
    rows: list[Row] = []
    for row in (row for part in PARTS if part[0] in wanted for row in _run(part, stage)):
        rows.append(row)
        if page is not None:
            page.put(row)
    print(f"{table(rows)}\n\n{said} {time.monotonic() - began:.0f} s")
    wrong = [row for row in rows if row.holds is False and (options.strict or row.share is None)]
    return int(bool(wrong) and not options.dry_run) or int(any(row.measured.startswith("failed") for row in rows))


def _stage(is_dry: bool) -> tuple[Stage | None, str]:
    if is_dry:
        return Stage(torch.device("cpu"), OnCpu(), is_dry=True), "Dry run on a CPU: no figure here is a measurement."
    if not torch.cuda.is_available():
        return None, f"{NOT_MEASURED}: torch {torch.__version__} sees no CUDA device here."
    device = torch.device("cuda", 0)
    if not kernels_run_on(device):
        return None, f"{NOT_MEASURED}: the kernels do not run on this card; the line above says why."
    return Stage(device), f"Measured on {torch.cuda.get_device_name(device)}."


def _run(part: Part, stage: Stage | None) -> Iterator[Row]:
    """The rows of a part; what it could not measure is named all the same."""
    name, names, measure = part
    left = list(names)
    if stage and stage.seconds_left() > 0:
        try:
            with torch.inference_mode():
                for measured in measure(stage):
                    is_void = stage.is_dry and (measured.share is not None or measured.name in ceilings.NAMES)
                    row = replace(measured, measured="dry run", share=None, holds=None) if is_void else measured
                    print(" | ".join(row.cells), flush=True)
                    left.remove(row.name)
                    yield row
        except Exception as error:  # noqa: BLE001 - the other parts still have something to say
            traceback.print_exc()
            yield Row(f"part {name}", f"failed: {type(error).__name__}", holds=False)
        if stage.device.type == "cuda":
            torch.cuda.empty_cache()
    yield from map(Row, left)


if __name__ == "__main__":
    sys.exit(main())
