"""What the scoreboard tries at length, tried shortly: hand-made and broken images, broken tensors, keys of twins."""

from pathlib import Path

import pytest

from tests.scoreboard.board import load_line
from tests.scoreboard.lines import mutated_images, mutated_tensors


@pytest.mark.parametrize(("name", "size"), [("image_cases", 1), ("cache_keys", 3_000)])
def test_a_line_holds(name: str, size: int, tmp_path: Path) -> None:
    result = load_line(name).run(size, tmp_path)
    assert result.num_tried >= size
    assert not result.num_failed, result.notes


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("line", [mutated_images, mutated_tensors])
def test_a_broken_file_is_refused_or_gives_what_is_there(line, capfd: pytest.CaptureFixture[str]) -> None:
    found = line.chunk(0, 2_000)
    assert found.failures == []
    assert 0 < found.num_accepted < 2_000
    assert capfd.readouterr().err == ""
