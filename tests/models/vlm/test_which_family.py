"""Which family a checkpoint of a shared architecture is of: by its names, by a key, by hand, and never by a guess."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from service.checkpoint.errors import UnsupportedModelError
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


def test_nothing_is_guessed_and_the_error_says_what_to_say(unnamed: Path) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        load_profile(unnamed)
    for word in ("'qwen2_vl'", "--family", "cenote.family", "gme_qwen2_vl (GME-Qwen2-VL", "vlm2vec (VLM2Vec"):
        assert word in str(caught.value)


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


@pytest.mark.parametrize(
    ("family", "said"),
    [("no-such", "'no-such' is unknown; known: .*gme_qwen2_vl"), ("qwen3_vl", "the family qwen3_vl is of 'qwen3_vl'")],
)
def test_a_family_that_cannot_be_is_refused(unnamed: Path, family: str, said: str) -> None:
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(unnamed, family)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"image_token_id": 4}, "image_token_id 4, but tokenizer.json numbers <|image_pad|> 5"),
        ({"vision_config": {"patch_size": 16}}, "patch_size 16"),
        ({"hidden_size": 0}, "hidden_size 0"),
        ({"cenote": ["gme"]}, "an object is needed"),
    ],
)
def test_files_that_disagree_are_refused(variant: Variant, config: dict[str, object], said: str) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        load_profile(variant("gme", **config))
    assert said in str(caught.value)


def test_shorter_vectors_are_offered_where_the_checkpoint_says_so(variant: Variant) -> None:
    assert not load_profile(variant("gme")).offers(32)
    assert load_profile(variant("gme-1", is_matryoshka=True)).offers(32)
    listed = load_profile(variant("gme-2", matryoshka_dimensions=[16, 32]))
    assert [length for length in (8, 16, 32, 48, 64) if listed.offers(length)] == [16, 32, 64]
