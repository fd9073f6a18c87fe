"""The built-in checkpoint is a released one in layout: files, config, tokenizer, samples."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from tokenizers import Tokenizer

from cenote_builtin.scoring.rerank_card import write_card
from cenote_builtin.scoring.scorecard import CARDS, write_scorecard
from cenote_builtin.tokenizer import SPECIAL
from cenote_builtin.training.train import TrainingRecord
from cenote_builtin.training.train_reranker import RerankerRecord
from service.checkpoint.hub import CHECKPOINT, RERANKER_CHECKPOINT
from tests.conftest import ROOT

FILES = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "chat_template.jinja",
    "modules.json",
    "1_Pooling/config.json",
    "2_Normalize/config.json",
    "config_sentence_transformers.json",
    "training.json",
    "cenote_calibration.json",
]
MAX_BYTES = 12 * 2**20


def read(name: str) -> dict:
    return json.loads((CHECKPOINT / name).read_text())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))


@pytest.mark.parametrize("name", FILES)
def test_the_folder_has_every_file_of_a_released_checkpoint(name: str) -> None:
    assert (CHECKPOINT / name).stat().st_size > 0


def test_the_folder_is_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in CHECKPOINT.rglob("*") if path.is_file()) <= MAX_BYTES


def test_the_training_writes_the_record_that_the_score_card_reads() -> None:
    assert set(read("training.json")) == {field.name for field in fields(TrainingRecord)}


def test_the_score_card_is_made_of_its_figures(tmp_path: Path) -> None:
    figures = json.loads((CARDS / "scorecard.json").read_text())
    assert write_scorecard(tmp_path, figures) == (CARDS / "SCORECARD.md").read_text()


def test_the_rerankers_card_is_made_of_its_figures_and_of_the_training_that_made_it(tmp_path: Path) -> None:
    figures = json.loads((CARDS / "reranking.json").read_text())
    assert write_card(tmp_path, figures) == (CARDS / "RERANKING.md").read_text()
    assert figures["training"] == json.loads((RERANKER_CHECKPOINT / "training.json").read_text())
    assert set(figures["training"]) == {field.name for field in fields(RerankerRecord)}


def test_the_config_has_the_released_layout() -> None:
    config = read("config.json")
    assert config["architectures"] == ["Qwen3VLForConditionalGeneration"]
    assert config["dtype"] == "bfloat16"
    assert config["matryoshka_dimensions"] == [32, 64, 128, 256]
    assert config["text_config"]["hidden_size"] == 256
    assert "rope_parameters" not in config["text_config"]
    assert config["text_config"]["rope_scaling"]["mrope_interleaved"] is True
    assert config["vision_config"]["deepstack_visual_indexes"]


def test_the_weights_are_bfloat16_and_about_two_million() -> None:
    with safe_open(CHECKPOINT / "model.safetensors", framework="pt") as weights:
        slices = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118  not a dict
    assert {part.get_dtype() for part in slices} == {"BF16"}
    assert 1.5e6 <= sum(int(np.prod(part.get_shape())) for part in slices) <= 2.5e6


def test_the_tokenizer_appends_the_pooled_token_once(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("<|im_start|>user\nred<|im_end|>\n<|im_start|>assistant\n").ids
    end = tokenizer.token_to_id("<|endoftext|>")
    assert ids[-1] == end
    assert ids.count(end) == 1


def test_special_tokens_are_single_and_agree_with_the_config(tokenizer: Tokenizer) -> None:
    config = read("config.json")
    ids = {token: tokenizer.encode(token, add_special_tokens=False).ids for token in SPECIAL}
    assert all(len(found) == 1 for found in ids.values())
    assert ids["<|image_pad|>"] == [config["image_token_id"]]
    assert ids["<|video_pad|>"] == [config["video_token_id"]]
    assert ids["<|vision_start|>"] == [config["vision_start_token_id"]]
    assert max(found[0] for found in ids.values()) < config["text_config"]["vocab_size"]


@pytest.mark.parametrize("text", ["a big red circle", "Ünïcode 漢字 🙂", "  spaces\n\ttabs ", ""])
def test_any_text_comes_back_from_its_tokens(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_pooling_and_prompts_are_declared_as_sentence_transformers_reads_them() -> None:
    assert read("1_Pooling/config.json")["pooling_mode"] == "lasttoken"
    kinds = [module["type"].rsplit(".", 1)[1] for module in read("modules.json")]
    assert kinds == ["Transformer", "Pooling", "Normalize"]
    prompts = read("config_sentence_transformers.json")["prompts"]
    assert prompts["document"] == "Represent the user's input."
    assert set(prompts) == {"query", "document", "colors", "shapes", "count", "positions"}


@pytest.mark.parametrize(
    "name", ["red-circle-blue-square", "three-green-stars", "yellow-ring-purple-cross-black-triangle"]
)
def test_the_sample_images_are_small_rgb_files(name: str) -> None:
    with Image.open(CHECKPOINT.parent / "samples" / f"{name}.png") as image:
        assert image.mode == "RGB"
        assert image.size == (256, 256)


def test_the_package_scenes_and_captions_do_not_pull_torch_in() -> None:
    code = (
        "import sys, cenote_builtin.scenes.scenes, cenote_builtin.scenes.captions;"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
