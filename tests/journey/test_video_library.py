"""docs/recipes/video-library.md as it is printed: the segment that is found and shown is the one that was asked for."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import LiveServer
from tests.recipe import run, serve_flags

pytestmark = pytest.mark.slow

PAGE = "video-library.md"


def test_a_question_finds_its_segment_and_a_frame_is_shown(builtin: LiveServer, tmp_path: Path) -> None:
    assert serve_flags(PAGE) == ["--model", "builtin"]
    names = run(PAGE, builtin.url, tmp_path)
    best, scenes = names["best"], names["scenes"]
    place = 20 * int(best["path"].removeprefix("film")[0]) + int(best["start_s"] // 10)
    assert all(words in scenes[place]["caption"] for words in ("small yellow circle", "big yellow ring"))
    drawn = Image.open(tmp_path / "build/video-library/scenes" / scenes[place]["file"])
    assert np.abs(np.asarray(names["shown"], float) - np.asarray(drawn.convert("RGB"), float)).mean() < 10
