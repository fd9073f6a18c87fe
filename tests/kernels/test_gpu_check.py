"""`make check-gpu` where there is no GPU: the whole table, the reason, and no failure; and the program itself, dry."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT
from tests.gpu import kernels, wheels
from tests.gpu.page import Page
from tests.gpu.row import Row
from tests.kernels.on_cpu import COMPILER

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here: run `make check-gpu`"),
]


def check_gpu(*arguments: str) -> subprocess.CompletedProcess[str]:
    places = f"{ROOT}{os.pathsep}{ROOT / 'kernels'}"
    environment = {**os.environ, "PYTHONPATH": places, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.gpu", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=400)


def rows_of(table: str) -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in lines[2:]}


def test_without_a_gpu_the_table_says_so_and_a_measured_one_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "gpu.md"
    done = check_gpu("--write", str(place))
    assert done.returncode == 0, done.stderr
    assert "sees no CUDA device" in done.stdout
    found = json.loads(place.with_suffix(".json").read_text())
    assert len(found["rows"]) > 15
    assert {row["measured"] for row in found["rows"]} == {"not measured"}
    assert set(rows_of(place.read_text())) == {row["name"] for row in found["rows"]}
    place.write_text("figures of a card")
    assert "stays as it is" in check_gpu("--write", str(place)).stdout
    assert place.read_text() == "figures of a card"


def test_a_page_holds_each_row_once_it_is_there_and_keeps_those_of_the_same_card(tmp_path: Path) -> None:
    place = tmp_path / "gpu.md"
    first = Page(place, ["copy", "product"], "Measured on a card.", lambda: 1.0)
    first.put(Row("copy", "3 TB/s"))
    assert rows_of(place.read_text())["copy"][0] == "3 TB/s"  # while the run goes on
    first.put(Row("part model", "failed: RuntimeError", holds=False))
    second = Page(place, ["copy", "product"], "Measured on a card.", lambda: 2.0)
    second.put(Row("copy"))
    second.put(Row("product", "700 TFLOP/s"))
    assert {name: cells[0] for name, cells in rows_of(place.read_text()).items()} == {
        "copy": "3 TB/s", "product": "700 TFLOP/s",
    }  # fmt: skip
    beside = place.with_suffix(".json")
    beside.write_text(beside.read_text().replace('"torch": "', '"torch": "1.'))
    third = Page(place, ["copy", "product"], "Measured on a card.", lambda: 3.0)
    third.put(Row("product", "800 TFLOP/s"))
    assert [cells[0] for cells in rows_of(place.read_text()).values()] == ["not measured", "800 TFLOP/s"]


@pytest.mark.skipif(COMPILER is None, reason="no g++ on this machine")
def test_the_program_runs_dry_and_every_result_that_a_cpu_can_see_is_right() -> None:
    done = check_gpu("--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(done.stdout[done.stdout.index("| what") :])
    verdicts = {name: cells[-1].strip() for name, cells in rows.items()}
    right = [name for name in rows if "reference" in name or "differ" in name or "cosine" in name]
    assert len(right) == 7
    assert {verdicts[name] for name in right} == {"holds"}
    assert not any("misses" in verdict for verdict in verdicts.values())
    assert [name for name, cells in rows.items() if cells[0] == "not measured"] == [kernels.BUILD]  # that is NVRTC's


def test_what_is_carried_along_is_all_but_what_an_image_with_torch_has() -> None:
    carried = wheels.wanted()
    assert any(line.startswith("msgspec") for line in carried)
    assert any(line.startswith("pillow") for line in carried)  # a resized image has the bytes of this version
    assert not any(line.startswith(("torch", "transformers", "numpy", "cuda")) for line in carried)


def test_the_committed_page_is_one_that_the_check_wrote() -> None:
    found = json.loads((ROOT / "docs" / "gpu.json").read_text())
    assert set(rows_of((ROOT / "docs" / "gpu.md").read_text())) == {row["name"] for row in found["rows"]}
