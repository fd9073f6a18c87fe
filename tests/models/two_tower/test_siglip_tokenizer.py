"""SigLIP's own tokenizer is SentencePiece after Python; tokenizer.json made of it, and `canonical`, give its ids."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.models.two_tower.captions import CAPTIONS, LONG
from tests.models.two_tower.conftest import Towers

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
