"""The gallery: always the same images, each with a caption that fits no other."""

import json
from pathlib import Path

from PIL import Image

from cenote_builtin.gallery import SIZE_PIXELS, main


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    for folder, seed in (("one", "5"), ("again", "5"), ("other", "6")):
        main([str(tmp_path / folder), "--num", "12", "--seed", seed])
    one, again, other = (files(tmp_path / name) for name in ("one", "again", "other"))
    assert one == again
    assert len(one) == 13
    assert not set(one.values()) & set(other.values())


def test_each_line_describes_an_image_that_is_there(tmp_path: Path) -> None:
    main([str(tmp_path), "--num", "40"])
    scenes = [json.loads(line) for line in (tmp_path / "scenes.jsonl").read_text().splitlines()]
    assert len({scene["caption"] for scene in scenes}) == len(scenes) == 40
    for scene in scenes:
        assert Image.open(tmp_path / scene["file"]).size == (SIZE_PIXELS, SIZE_PIXELS)
        assert 1 <= max(len(scene["colors"]), len(scene["shapes"])) <= scene["count"] <= 4
