"""The family of a checkpoint of a shared architecture: by its names, by a key, by hand, and never by a guess."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from service.prompt.detect import load_profile
from tests.models.vlm.checkpoints import qwen2_vl

Variant = Callable[..., Path]


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "segment-of-a-model")


@pytest.fixture
def variant(unnamed: Path, tmp_path: Path) -> Variant:
    def made(name: str, **config: object) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        shutil.copyfile(unnamed / "tokenizer.json", folder / "tokenizer.json")
        written = json.loads((unnamed / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(written | config))
        return folder

    return made


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("gme-Qwen2-VL-2B-Instruct", {}, "gme-qwen2-vl"),
        ("models--Alibaba-NLP--gme-Qwen2-VL-2B-Instruct/snapshots/477027a6", {}, "gme-qwen2-vl"),
        ("merged", {"architectures": ["GmeQwen2VL"]}, "gme-qwen2-vl"),
        ("merged", {"auto_map": {"AutoModel": "modeling_gme_qwen2vl.GmeQwen2VL"}}, "gme-qwen2-vl"),
        ("VLM2Vec-V2.0", {}, "vlm2vec"),
        ("merged", {"_name_or_path": "VLM2Vec/VLM2Vec-V2.0"}, "vlm2vec"),
        ("VLM2Vec-V2.0", {"cenote": {"family": "gme_qwen2_vl"}}, "gme-qwen2-vl"),
    ],
)
def test_names_and_the_key_say_which(variant: Variant, name: str, config: dict[str, object], expected: str) -> None:
    assert load_profile(variant(name, **config)).name == expected


def test_what_is_said_by_hand_counts_most(variant: Variant) -> None:
    folder = variant("gme", cenote={"family": "gme_qwen2_vl"})
    assert load_profile(folder, "vlm2vec").name == "vlm2vec"


def test_shorter_vectors_are_offered_where_the_checkpoint_says_so(variant: Variant) -> None:
    assert not load_profile(variant("gme")).offers(32)
    assert load_profile(variant("gme-1", is_matryoshka=True)).offers(32)
    listed = load_profile(variant("gme-2", matryoshka_dimensions=[16, 32]))
    assert [length for length in (8, 16, 32, 48, 64) if listed.offers(length)] == [16, 32, 64]
