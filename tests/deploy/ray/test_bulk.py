"""The Ray Data job: every row of a Parquet data set has its vector or its reason, and a run that was ended goes on."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cenote_ray import bulk
from tests.conftest import LiveServer, data_uri, image, image_part, text_part
from tests.deploy.ray.cluster import ROOT, SETTINGS, descendants_of, plain_environ

NUM_ROWS = 600
NUM_FILES = 12
ROWS_PER_PART = 40
BROKEN = ("11", "77")
EMPTY = "120"
TOLERANCE = 1e-5
RUN_S = 120


def drawn(seed: int) -> bytes:
    return base64.b64decode(image(seed).partition(",")[2])


def row(number: int) -> dict[str, Any]:
    """A third are texts, a third images, a third both; two images are cut short, and one row has nothing."""
    name = str(number)
    file = drawn(number) if number % 3 else None
    text = f"row number {number}" if number % 3 != 1 else None
    if name in BROKEN:
        file = drawn(number)[:90]
    instruction = "Represent the colors of the image." if number % 2 else None
    return {"id": name, "image": file, "text": text, "instruction": instruction} | (
        {"image": None, "text": None} if name == EMPTY else {}
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    schema = pa.schema(
        [("id", pa.string()), ("image", pa.binary()), ("text", pa.string()), ("instruction", pa.string())]
    )
    for file in range(NUM_FILES):
        rows = [row(number) for number in range(file, NUM_ROWS, NUM_FILES)]
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{file:02}.parquet")
    return folder


def start(source: Path, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "kernels", ROOT / "deploy" / "ray")))
    env = plain_environ() | {"PYTHONPATH": path, "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
    settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "cenote_ray.bulk", str(source), "out", "--batch-size", "8"]
    command += ["--checkpoint", "done", "--dimensions", "64"]  # below the working directory
    command += ["--rows-per-part", str(ROWS_PER_PART), *settings]
    with log.open("wb") as file:
        return subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file)


def end(process: subprocess.Popen[bytes]) -> None:
    """As a machine that goes: the job and all of its own cluster at once.

    The job is stopped first, so that it neither ends nor starts anything while the others are looked for.
    """
    os.kill(process.pid, signal.SIGSTOP)
    for pid in (process.pid, *descendants_of(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the job had ended by itself"


def results(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "out").glob("*.parquet"))
    return [one for file in files for one in pq.read_table(file).to_pylist()]


@pytest.mark.parametrize(
    ("columns", "settings", "words"),
    [
        (None, (), "source {source}: no such file or folder"),
        ({"id": ["a"], "words": ["b"]}, (), "got the columns id, words, expected `id`, and `text` or `image` or both"),
        ({"id": ["a"], "text": ["b"]}, ("--set", "no_such=1"), "--no-such: unknown setting"),
    ],
)
def test_what_cannot_be_embedded_is_refused_before_anything_is_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: dict[str, list[str]] | None,
    settings: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if columns is not None:
        pq.write_table(pa.table(columns), "in.parquet")
    with pytest.raises(SystemExit) as ended:
        bulk.main(["in.parquet", "out", "--checkpoint", "done", *settings])
    assert ended.value.code == 2
    assert words.format(source=tmp_path / "in.parquet") in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ([] if columns is None else ["in.parquet"])


def test_relative_places_are_those_of_whoever_starts_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    assert bulk.absolute("in") == str(tmp_path / "in")
    assert bulk.absolute("s3://b/in") == "s3://b/in"
    assert [bulk.absolute_model("model", one) for one in ("model", "builtin")] == [str(tmp_path / "model"), "builtin"]


def test_a_killed_job_goes_on_and_every_row_ends_once(source: Path, plain: LiveServer, tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start(source, tmp_path, log)
    deadline_s = time.monotonic() + RUN_S
    while len(list((tmp_path / "out").glob("*.parquet"))) < 3:
        assert time.monotonic() < deadline_s, log.read_text()[-4000:]
        assert process.poll() is None, log.read_text()[-4000:]
        time.sleep(0.02)
    end(process)
    num_before = len(list((tmp_path / "out").glob("*.parquet")))
    process = start(source, tmp_path, log)
    assert process.wait(RUN_S) == 3, log.read_text()[-4000:]  # there are dead letters
    assert "the engine ended" not in log.read_text()
    found = results(tmp_path)
    assert 0 < num_before < NUM_ROWS / ROWS_PER_PART
    assert sorted(one["id"] for one in found) == sorted(map(str, range(NUM_ROWS)))
    check_dead_letters(tmp_path)
    check_vectors(found, plain)


def check_dead_letters(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "out" / "dead_letters.jsonl").read_text().splitlines()]
    assert {line["id"]: line["error_code"] for line in lines} == {
        **dict.fromkeys(BROKEN, "media_undecodable"),
        EMPTY: "invalid_request",
    }


def check_vectors(found: list[dict[str, Any]], plain: LiveServer) -> None:
    by_id = {one["id"]: one for one in found}
    for number in (0, 1, 2, 3, 100, 101):
        wanted = row(number)
        parts = [image_part(data_uri(wanted["image"]))] if wanted["image"] else []
        parts += [text_part(wanted["text"])] if wanted["text"] else []
        body = {"inputs": [{"content": parts}], "instruction": wanted["instruction"], "dimensions": 64}
        (vector,) = plain.vectors(body)
        np.testing.assert_allclose(by_id[str(number)]["embedding"], vector, rtol=0, atol=TOLERANCE)
    assert all(one["embedding"] is None for one in found if one["error_code"] is not None)
