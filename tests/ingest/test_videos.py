"""Videos through `cenote ingest`: every segment once, with the vector of the server's own part, every failure named."""

import io
import json
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
import pyarrow.parquet
import pytest
from PIL import Image

from service.ingest.files.video_process import VideoProcesses
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import Ask, SourceItem
from service.ingest.sending.every_kind import EveryKind
from service.ingest.sending.handshake import video_rule
from service.ingest.sending.media import VideoLoader
from service.ingest.sources.video import VideoSegments
from service.ingest.vectors import Vectors, floats
from tests.conftest import TOLERANCE, Gained, LiveServer, inputs
from tests.ingest.program import Program, by_id, lines
from tests.ingest.test_ledger import PLAN
from tests.journey.test_minilm import FOLDER
from tests.video_file import soundtrack, video, video_part

pytestmark = pytest.mark.slow

LARGE = (448, 576)
"""Frames that the model sees smaller: they are shrunk before they are sent."""
FILES = {
    "a/long.mp4": video(125, fps=5, size=(96, 128)),  # 25 s: 10, 10 and 5
    "a/short.webm": video(30, fps=10, codec="libvpx-vp9", container="webm", size=(96, 160)),  # 3 s
    "a/phone.mov": video(20, fps=5, container="mov", size=(128, 96), degrees=270),  # 4 s, upright by its matrix
    "a/wide.mp4": video(20, fps=5, size=(96, 64), pixel_shape=Fraction(8, 3)),
    "large.m4v": video(42, fps=4, size=LARGE),  # 10.5 s: half a second more is no segment of its own
}
SEGMENTS = {
    "a/long.mp4": [(0, 10), (10, 20), (20, 25)],
    "a/short.webm": [(0, 3)],
    "a/phone.mov": [(0, 4)],
    "a/wide.mp4": [(0, 4)],
    "large.m4v": [(0, 10.5)],
}


def noise(num_frames: int, fps: int) -> bytes:
    """Frames that no codec of images makes small."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        stream = file.add_stream("mpeg4", rate=fps)
        stream.height, stream.width, stream.pix_fmt = 128, 128, "yuv420p"
        for seed in range(num_frames):
            pixels = np.random.default_rng(seed).integers(0, 256, (128, 128, 3), dtype=np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        file.mux(stream.encode(None))
    return buffer.getvalue()


BROKEN = {
    "cut.mp4": (FILES["a/long.mp4"][:2000], "damaged"),
    "other.avi": (b"RIFF" + bytes(100), "MP4, WebM"),
    "silent.mp4": (soundtrack(), "holds no video"),
    "still.mp4": (video(1), "1 frame"),
}
SEGMENT_KEYS = {"path", "duration_s", "start_s", "end_s", "segment", "num_segments"}
"""Of a segment's metadata, as the page of ingest shows them."""


def fill(folder: Path) -> list[str]:
    for name, content in (FILES | {name: content for name, (content, _) in BROKEN.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [f"{name}#t={start:g},{end:g}" for name, times in SEGMENTS.items() for start, end in times]


def part_of(name: str, **times: Any) -> dict[str, Any]:
    return video_part(FILES[name], "webm" if name.endswith("webm") else "mp4", **times)


def there(server: LiveServer, *parts: dict[str, Any], **fields: Any) -> np.ndarray:
    return server.vectors(inputs(*parts, **fields))


def test_a_folder_gives_every_segment_once_with_its_vector_and_every_failure_its_name(
    builtin: LiveServer, tmp_path: Path
) -> None:
    ids, sink = fill(tmp_path / "in"), tmp_path / "out.jsonl"
    arguments = (tmp_path / "in", "--to", sink, "--server", builtin.url, "--segment-s", "10")
    end = Program(*arguments).end(3)
    assert (end["points"], end["failed"], end["total"]) == (len(ids), len(BROKEN), len(ids) + len(BROKEN))
    found = by_id(sink)
    assert set(found) == set(ids)
    for name, times in SEGMENTS.items():
        segments = [found[f"{name}#t={start:g},{end:g}"] for start, end in times]
        parts = [part_of(name, start_s=start, end_s=end) for start, end in times]
        np.testing.assert_allclose(
            np.array([one["vector"] for one in segments]), there(builtin, *parts), rtol=0, atol=TOLERANCE
        )
        for number, (one, (start, end_s)) in enumerate(zip(segments, times, strict=True), start=1):
            assert one["metadata"] == {
                "path": name,
                "duration_s": times[-1][1],
                "start_s": start,
                "end_s": end_s,
                "segment": number,
                "num_segments": len(times),
            }
            assert set(one["metadata"]) == SEGMENT_KEYS
            assert one["text"] is None
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert {name: line["code"] for name, line in letters.items()} == dict.fromkeys(BROKEN, "media_undecodable")
    assert all(words in letters[name]["message"] for name, (_, words) in BROKEN.items())
    again = Program(*arguments).end(3)
    assert (again["points"], again["already"], again["failed"]) == (0, len(ids), len(BROKEN))
    other = Program(*arguments[:-1], "5").end(1)
    assert "segment_s was 10.0 and is 5.0" in other["why"]


def test_without_segments_a_video_is_one_item_among_images(builtin: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path / "in")
    Image.new("RGB", (64, 64), "red").save(tmp_path / "in" / "a" / "red.png")
    sink = tmp_path / "out.jsonl"
    end = Program(tmp_path / "in", "--to", sink, "--server", builtin.url).end(3)
    assert (end["points"], end["failed"]) == (len(FILES) + 1, len(BROKEN))
    found = by_id(sink)
    assert set(found) == {*FILES, "a/red.png"}
    here = np.array([found[name]["vector"] for name in FILES])
    np.testing.assert_allclose(here, there(builtin, *map(part_of, FILES)), rtol=0, atol=TOLERANCE)
    assert found["a/long.mp4"]["metadata"] == {"path": "a/long.mp4", "duration_s": 25.0}


def test_several_instructions_of_a_segment_are_encoded_once(builtin: LiveServer, tmp_path: Path) -> None:
    file, sink = tmp_path / "clip.mp4", tmp_path / "out.jsonl"
    file.write_bytes(video(40, fps=4, size=(128, 96), codec="mpeg4"))
    gained, instructions = Gained(builtin), ["Represent the colors.", "Represent the shapes."]
    asked = [flag for one in instructions for flag in ("--instruction", one)]
    arguments = (file, "--to", sink, "--server", builtin.url, "--segment-s", "5", *asked)
    assert Program(*arguments).end()["points"] == 4
    assert gained("vision_encodes_total") == 4  # two segments of four frames
    for instruction in instructions:
        part = video_part(file.read_bytes(), start_s=5, end_s=10)
        (line,) = [one for one in lines(sink) if (one["id"], one["instruction"]) == (f"{file}#t=5,10", instruction)]
        expected = there(builtin, part, instruction=instruction)
        np.testing.assert_allclose([line["vector"]], expected, rtol=0, atol=TOLERANCE)
    assert gained("vision_encodes_total") == 4  # the same pairs, sent as a file


def test_a_video_that_became_another_is_refused(builtin: LiveServer, tmp_path: Path) -> None:
    file, sink = tmp_path / "clip.mp4", tmp_path / "out.jsonl"
    arguments = (file, "--to", sink, "--server", builtin.url, "--segment-s", "2")
    content = FILES["a/short.webm"]
    file.write_bytes(content)
    assert Program(*arguments).end()["points"] == 2
    file.touch()
    assert Program(*arguments).end()["already"] == 2
    changed = bytearray(content)
    place = len(changed) - 40
    changed[place] ^= 1
    file.write_bytes(bytes(changed))
    end = Program(*arguments).end(3)
    assert (end["points"], end["failed"]) == (0, 2)
    codes = {line["code"] for line in by_id(tmp_path / "out.jsonl.dead.jsonl").values()}
    assert codes == {"content_changed"}


def test_a_file_damaged_in_the_middle_loses_those_segments_alone(builtin: LiveServer, tmp_path: Path) -> None:
    encoded = bytearray(video(120, fps=4, size=(96, 96), codec="libx264"))
    middle = slice(len(encoded) // 3, len(encoded) // 2)
    encoded[middle] = bytes(middle.stop - middle.start)
    file, sink = tmp_path / "clip.mp4", tmp_path / "out.jsonl"
    file.write_bytes(bytes(encoded))
    end = Program(file, "--to", sink, "--server", builtin.url, "--segment-s", "3").end(3)
    assert end["points"] + end["failed"] == 10
    assert end["points"] >= 2
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert {one["code"] for one in letters.values()} == {"media_undecodable"}
    assert all("#t=" in name for name in letters)


def test_frames_that_no_request_could_hold_say_what_helps(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    small = start_server("--model", "builtin", "--max-body-bytes", "120000").wait_until_ready()
    file, sink = tmp_path / "noise.mp4", tmp_path / "out.jsonl"
    file.write_bytes(noise(80, 4))
    to = ("--to", sink, "--server", small.url)
    assert Program(file, *to).end(3)["failed"] == 1
    (letter,) = by_id(tmp_path / "out.jsonl.dead.jsonl").values()
    assert letter["code"] == "media_too_large"
    assert "--segment-s" in letter["message"]
    small.stop()


def test_a_model_without_videos_is_told_before_work(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    """And of a folder what it takes is embedded, and the other files are counted apart."""
    server = start_server("--model", str(FOLDER)).wait_until_ready()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.webm").write_bytes(FILES["a/short.webm"])
    (tmp_path / "in" / "b.PNG").write_bytes(b"not read")
    to = ("--to", tmp_path / "out.jsonl", "--server", server.url)
    for source, flags in (("in/a.webm", ()), ("in", ("--segment-s", "5"))):
        assert "takes text, no video" in Program(tmp_path / source, *to, *flags).end(1)["why"]
    assert "nothing but 1 video (.webm) and 1 image (.png)" in Program(tmp_path / "in", *to).end(1)["why"]
    assert not (tmp_path / "out.jsonl").exists()
    (tmp_path / "in" / "c.md").write_text("a red door")
    run = Program(tmp_path / "in", *to)
    end = run.end()
    assert (end["points"], end["failed"], end["left_out"], end["total"]) == (1, 0, 2, 1)
    says = "leaves out 1 video (.webm) and 1 image (.png), as {} takes text alone; for them, run it with a --model that"
    assert says.format(server.http.get("/v1/models").json()["data"][0]["root"]) in run.stderr()
    server.stop()


def test_a_video_in_requests_of_every_kind_of_vector_is_the_same(builtin: LiveServer, tmp_path: Path) -> None:
    """No model that takes video has other kinds than dense yet, so the form is asked without a run."""
    (tmp_path / "a.webm").write_bytes(FILES["a/short.webm"])
    card = builtin.http.get("/v1/models/builtin").json()
    plan = msgspec.structs.replace(PLAN, dimensions=card["dimensions"])
    form = EveryKind(card["id"], plan, truncate=False)
    with closing(VideoProcesses()) as processes:
        (item,) = VideoSegments(processes, 0).items(tmp_path / "a.webm", "a.webm")
        assert isinstance(item, SourceItem)
        assert isinstance(item.media, VideoSegment)
        frames = VideoLoader(video_rule(card), "", 1 << 25, processes).load(item.media)
    asks = [Ask(item, "Represent the colors.", plan.point_id("a.webm", None))]
    answer = builtin.http.post(
        form.path, content=form.body(asks, {"a.webm": frames}), headers={"content-type": "application/json"}
    )
    (found,) = form.read(answer.content, answer.headers, asks).entries
    assert isinstance(found, Vectors)
    expected = there(builtin, part_of("a/short.webm"), instruction="Represent the colors.")
    np.testing.assert_allclose([floats(found.dense)], expected, rtol=0, atol=TOLERANCE)


def test_rows_of_parquet_say_where_a_segment_lies(builtin: LiveServer, tmp_path: Path) -> None:
    file, sink = tmp_path / "clip.webm", tmp_path / "out.parquet"
    file.write_bytes(FILES["a/short.webm"])
    Program(file, "--to", sink, "--server", builtin.url, "--segment-s", "1.5").end()
    rows = pyarrow.parquet.read_table(sink).to_pylist()
    places = {row["id"]: json.loads(row["metadata"]) for row in rows}
    assert {name: (one["start_s"], one["end_s"]) for name, one in places.items()} == {
        f"{file}#t=0,1.5": (0.0, 1.5),
        f"{file}#t=1.5,3": (1.5, 3.0),
    }
