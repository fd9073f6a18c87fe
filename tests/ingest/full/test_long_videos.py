"""The bar of videos: a folder of segments with three kills, each once; a long file in flat memory."""

import random
from pathlib import Path

import av
import numpy as np
import pytest

from tests.conftest import LiveServer
from tests.ingest.full.test_pdf_library import MAX_GROWTH_BYTES
from tests.ingest.program import Program, by_id, lines
from tests.ingest.test_videos import BROKEN, FILES, fill
from tests.video_file import video

NUM_FILMS, FILM_S, SEGMENT_S, FPS = 10, 100, 5, 4
NUM_KILLS = 3
LONG_S = 3600


def test_killed_three_times_every_segment_is_there_once_and_every_failure_named(
    live: LiveServer, tmp_path: Path
) -> None:
    folder, sink = tmp_path / "in", tmp_path / "out.jsonl"
    fill(folder)
    for name in FILES:
        (folder / name).unlink()
    for number in range(NUM_FILMS):
        size = (64 + 16 * number, 96)
        (folder / f"film{number}.mp4").write_bytes(video(FILM_S * FPS, fps=FPS, size=size, codec="mpeg4"))
    times = [(start, start + SEGMENT_S) for start in range(0, FILM_S, SEGMENT_S)]
    ids = [f"film{number}.mp4#t={start},{end}" for number in range(NUM_FILMS) for start, end in times]
    assert len(ids) == 200
    encoded = live.metric("cenote_vision_encodes_total")
    arguments = (folder, "--to", sink, "--server", live.url, "--batch-inputs", "8", "--segment-s", str(SEGMENT_S))
    for least in sorted(random.sample(range(1, len(ids) - 40), NUM_KILLS)):
        Program(*arguments).kill_when(lambda least=least: sink.exists() and sink.read_bytes().count(b"\n") >= least)
    end = Program(*arguments).end(3)
    assert end["failed"] == len(BROKEN)
    assert sorted(line["id"] for line in lines(sink)) == sorted(ids)
    assert live.metric("cenote_vision_encodes_total") - encoded <= 2 * len(ids)  # a pair is encoded once at most
    assert set(by_id(tmp_path / "out.jsonl.dead.jsonl")) == set(BROKEN)


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour of small frames of noise, over 100 MB."""
    path = tmp_path_factory.mktemp("hour") / "hour.mp4"
    shown = [np.random.default_rng(seed).integers(0, 256, (96, 96, 3), dtype=np.uint8) for seed in range(7)]
    with av.open(str(path), "w") as file:
        stream = file.add_stream("mjpeg", rate=10)
        stream.height, stream.width, stream.pix_fmt = 96, 96, "yuvj420p"
        for number in range(LONG_S * 10):
            pixels = np.roll(shown[number % 7], divmod(number, 96), axis=(0, 1))  # none comes twice
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def test_memory_of_an_hour_is_flat(live: LiveServer, tmp_path: Path, hour: Path) -> None:
    sink = tmp_path / "out.jsonl"
    flags = ("--dimensions", "32", "--segment-s", "10", "--batch-bytes", str(1 << 20))
    run = Program(hour, "--to", sink, "--server", live.url, *flags)
    growth = run.growth(lambda: sink.stat().st_size if sink.exists() else 0)
    assert run.end()["points"] == LONG_S // 10
    assert growth < MAX_GROWTH_BYTES
