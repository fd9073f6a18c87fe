"""Files of two-tower checkpoints: old forms, defaults, and what stops the start."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.media.resize.tower_rule import NaflexRule, SquareRule
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.models.two_tower.captions import CAPTIONS, LONG
from tests.models.two_tower.conftest import Towers

Changed = Callable[..., Path]


@pytest.fixture
def changed(two_towers: Callable[[str], Towers], tmp_path: Path) -> Changed:
    """A family's files, without weights, with changes made to their JSON; None takes a key away."""

    def changed(name: str, **changes: dict[str, Any]) -> Path:
        folder = tmp_path / name
        files = shutil.ignore_patterns("*.safetensors")
        shutil.copytree(two_towers(name).folder, folder, ignore=files, dirs_exist_ok=True)
        for stem, values in changes.items():
            path = folder / f"{stem}.json"
            content = json.loads(path.read_text()) if path.exists() else {}
            content = {key: value for key, value in (content | values).items() if value is not None}
            path.write_text(json.dumps(content))
        return folder

    return changed


def rule_of(folder: Path) -> SquareRule | NaflexRule:
    profile: Profile = load_profile(folder)
    assert profile.images is not None
    rule = profile.images.pixel_rule
    assert isinstance(rule, SquareRule | NaflexRule)
    return rule


def test_what_files_leave_out_is_what_transformers_fills_in(changed: Changed) -> None:
    sizes = {"vision_config": {"model_type": "clip_vision_model"}, "text_config": {}, "projection_dim": None}
    nothing = dict.fromkeys(("size", "crop_size", "resample", "do_center_crop", "image_mean", "image_std"))
    folder = changed("clip", config=sizes, preprocessor_config=nothing)
    assert rule_of(folder) == SquareRule(side=224, edge=224, is_squashed=False, resample=3)
    profile = load_profile(folder)
    assert (profile.dimensions, profile.max_tokens) == (512, 77)
    assert profile.images is not None
    assert profile.images.image_pad == 49_408


def test_a_section_of_old_configs_counts_alone(changed: Changed) -> None:
    old = {"vision_config": {"image_size": 224}, "vision_config_dict": {"image_size": 32}}
    assert rule_of(changed("clip", config=old)).side == 32  # type: ignore[union-attr]


def test_an_image_processor_inside_the_processors_file_comes_first(changed: Changed) -> None:
    inner = {"size": {"height": 32, "width": 32}, "do_center_crop": False, "resample": 1}
    folder = changed("clip", processor_config={"image_processor": inner})
    assert rule_of(folder) == SquareRule(side=32, edge=32, is_squashed=True, resample=1)
    (folder / "preprocessor_config.json").unlink(missing_ok=True)
    assert rule_of(folder).resample == 1


def test_families_of_one_model_type_are_distinguished_by_their_tokenizer(changed: Changed) -> None:
    assert load_profile(changed("siglip")).name == "siglip"
    gemma = load_profile(changed("siglip", tokenizer_config={"tokenizer_class": "GemmaTokenizerFast"}))
    assert (gemma.name, gemma.lower_case) == ("siglip2", True)
    assert load_profile(changed("siglip2-naflex")).name == "siglip2-naflex"


def test_lengths_that_a_checkpoint_offers_are_offered(changed: Changed) -> None:
    profile = load_profile(changed("clip", config={"matryoshka_dimensions": [8, 16]}))
    assert (profile.matryoshka, profile.min_dimensions) == ((8, 16, 24), 8)
    assert load_profile(changed("siglip")).matryoshka == (48,)


TEXTS = (*CAPTIONS, "", "?", "Tab\t x", LONG, "▁under_score ▁ x", "Σίσυφος ΣΑΣ")


def test_prompts_have_the_ids_of_siglips_own_tokenizer(two_towers: Callable[[str], Towers], tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    from tokenizers.processors import TemplateProcessing
    from transformers import SiglipTokenizer
    from transformers.convert_slow_tokenizer import SpmConverter

    (tmp_path / "captions").write_text("\n".join(caption.lower() for caption in CAPTIONS * 5))
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "captions"),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=140,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    theirs = SiglipTokenizer(str(tmp_path / "spiece.model"))
    theirs.save_pretrained(tmp_path)
    fast = SpmConverter(theirs).converted()
    fast.add_special_tokens(["</s>", "<unk>"])
    fast.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    fast.save(str(tmp_path / "tokenizer.json"))
    config = json.loads((two_towers("siglip").folder / "config.json").read_text())
    config["text_config"]["vocab_size"] = len(theirs)
    (tmp_path / "config.json").write_text(json.dumps(config))
    processor = (two_towers("siglip").folder / "preprocessor_config.json").read_bytes()
    (tmp_path / "preprocessor_config.json").write_bytes(processor)
    profile = load_profile(tmp_path)
    builder = PromptBuilder(profile, PromptTokenizer(tmp_path, lower_case=profile.lower_case))
    for text in TEXTS:
        prompt = builder.build(Conversation(None, (Turn("user", (text,)),)), Truncation(64, "right"))
        assert prompt.plan.ids == theirs(text, padding="max_length", truncation=True, max_length=64)["input_ids"], text
