"""Tokenizers of all kinds: the reference's ids, texts of single tokens, and added tokens that keep their numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.tokenizer.tokenizer_file import TokenizerFile
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.text.checkpoints import RECIPES, reference
from tests.models.text.conftest import ServedText
from tests.models.text.texts import TEXTS


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_ids_are_the_references_and_their_texts_join(served: Callable[[str], ServedText], name: str) -> None:
    family = served(name)
    for text in (*TEXTS, "", "🦊" * 3, "\u0000\u00ad"):
        theirs = family.reference.tokenizer(text)["input_ids"]
        if not theirs:  # voyage-4-nano's adds no token, and nothing of nothing is refused
            continue
        ids = family.token_ids(text)
        assert ids == theirs
        strs = family.tokenizer.token_strs(ids)
        assert len(strs) == len(ids)
        assert "".join(strs) == family.tokenizer.decode(ids)


@pytest.mark.parametrize("name", ["xlm_roberta", "modernbert", "gemma3_text"])
def test_texts_are_made_lower_case_where_a_file_asks_for_it(
    served: Callable[[str], ServedText], tmp_path: Path, name: str
) -> None:
    folder = copied(served(name).folder, tmp_path)
    path = folder / "sentence_bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"do_lower_case": True}))
    theirs = reference(folder).tokenizer
    ours, unchanged = PromptTokenizer(folder, lower_case=True), PromptTokenizer(folder)
    for text in TEXTS:
        ids = [*ours.head_token_ids, *ours.encode(text).ids, *ours.tail_token_ids]
        assert ids == theirs(text)["input_ids"]
    assert ours.encode("UPPER").ids != unchanged.encode("UPPER").ids


def test_an_added_word_keeps_its_number_beside_pieces_that_no_text_reaches(
    served: Callable[[str], ServedText], tmp_path: Path
) -> None:
    folder = copied(served("xlm_roberta").folder, tmp_path)
    number = len(vocab_of(folder))
    add_word(folder, number)
    assert PromptTokenizer(folder).encode("a cenotecenote b").ids.count(number) == 2


def test_an_added_word_that_would_lose_its_number_stops_the_start(
    served: Callable[[str], ServedText], tmp_path: Path
) -> None:
    folder = copied(served("xlm_roberta").folder, tmp_path)
    number = len(vocab_of(folder))
    add_word(folder, number + 1, {"content": "<extra>", "id": number, "special": True})
    with pytest.raises(CheckpointError, match="adds 'cenote' behind special tokens"):
        PromptTokenizer(folder)


@pytest.mark.parametrize("name", ["bert", "xlm_roberta", "roberta", "gemma3_text", "qwen3"])
@pytest.mark.parametrize("special", [True, False])
def test_no_text_comes_to_a_token_without_an_embedding(
    served: Callable[[str], ServedText], tmp_path: Path, name: str, special: bool
) -> None:
    """On all three ways to a prompt: by itself, among many, and with special tokens parsed."""
    folder = copied(served(name).folder, tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}
    tokenizer["added_tokens"].append({"content": "<extra>", "id": rows, **flags})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    profile = load_profile(folder)
    text, cut = "a <extra> b", Truncation(profile.max_tokens)
    for is_strict in (False, True):
        builder = PromptBuilder(profile, PromptTokenizer(folder), is_strict)
        ids = builder.build(Conversation(None, (Turn("user", (text,)),)), cut).plan.ids
        assert max(ids) < rows
        assert ids == served(name).token_ids(text)
        among_others = builder.plain_texts.build([text, text], Conversation(None, ()), cut)
        assert all(one is None or one.plan.ids == ids for one in among_others)
    assert TokenizerFile.read(folder).dropped == ("<extra>",)  # which the start logs


def copied(source: Path, target: Path) -> Path:
    for path in filter(Path.is_file, source.rglob("*")):
        (target / path.relative_to(source)).parent.mkdir(exist_ok=True)
        (target / path.relative_to(source)).write_bytes(path.read_bytes())
    return target


def vocab_of(folder: Path) -> list[Any]:
    return list(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"])


def add_word(folder: Path, number: int, *before: dict[str, Any]) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    for token in (*before, {"content": "cenote", "id": number, "special": False}):
        shape = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        content["added_tokens"].append(token | shape)
    (folder / "tokenizer.json").write_text(json.dumps(content))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": number + 1}))


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm_roberta", "modernbert", "qwen3", "llama"])
def test_a_special_token_in_a_text_is_text_unless_the_reference_is_asked_for(
    served: Callable[[str], ServedText], name: str
) -> None:
    family = served(name)
    tokenizer = family.reference.tokenizer
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}  # a small vocabulary knows no `<`
    num_around = sum(id_ in special for id_ in family.token_ids("before after"))
    strict = PromptBuilder(family.profile, family.tokenizer, strict_reference=True)
    unbounded = Truncation(family.profile.max_tokens)
    texts = [f"before {word} after" for word in tokenizer.all_special_tokens]
    assert texts
    for text in texts:
        conversation = Conversation(None, (Turn("user", (text,)),))
        assert strict.build(conversation, unbounded).plan.ids == tokenizer(text)["input_ids"]
        assert sum(id_ in special for id_ in family.token_ids(text)) == num_around
    differences = np.abs(family.texts(texts) - family.reference.encode(texts)).max(axis=1)
    assert (differences > 10 * TOLERANCE).all()  # what docs/models.md lists among the differences
