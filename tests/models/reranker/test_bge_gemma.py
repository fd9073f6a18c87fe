"""bge-reranker-v2-gemma in the folder that was released, against its card's script."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from service.prompt.families.bge_gemma_reranker import QUESTION
from tests.conftest import TOLERANCE
from tests.models.folders.bases import made
from tests.models.served import Served, sigmoid
from tests.models.text.texts import LONG, TEXTS

PAIRS = [(TEXTS[i], TEXTS[(7 * i + 3) % len(TEXTS)]) for i in range(len(TEXTS)) if len(TEXTS[i]) < 200]
"""A query has to fit: the document alone is cut."""
FAMILY = "bge_gemma_reranker"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("gemma generator", tmp_path_factory.mktemp("bge"))


def script(folder: Path, pairs: list[tuple[str, str]], question: str, max_length: int) -> np.ndarray:
    """The card's script, in float32; its padding is a batch of one here."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    yes = tokenizer.convert_tokens_to_ids("Yes")
    scores = []
    for query, passage in pairs:
        first, between, second = [tokenizer.bos_token_id, *ids(f"A: {query}")], ids("\n"), ids(f"B: {passage}")
        both = [*first, *between, *second][:max_length] + between + ids(question)
        with torch.inference_mode():
            scores.append(float(model(torch.tensor([both])).logits[0, -1, yes]))
    return np.array(scores)


def room(served: Served, question: str) -> int:
    """The script's length, which leaves out what stands behind the document."""
    return served.profile.max_tokens - sum(len(served.tokenizer.encode(text).ids) for text in ("\n", question))


@pytest.mark.parametrize("question", [None, "Is B about A? Say 'Yes' or 'No'."])
def test_scores_are_those_of_the_cards_script(folder: Path, question: str | None) -> None:
    served = Served(folder, FAMILY)
    prompts = [served.pair(*pair, question) for pair in PAIRS]
    theirs = script(folder, PAIRS, question or QUESTION, room(served, question or QUESTION))
    assert np.abs(served.vectors(prompts)[:, 0] - theirs).max() <= TOLERANCE
    assert np.abs(served.scores(prompts[::5]) - sigmoid(theirs[::5])).max() <= TOLERANCE
    assert np.ptp(theirs) > 100 * TOLERANCE


def test_the_document_is_cut(folder: Path) -> None:
    served, pair = Served(folder, FAMILY), ("short", " ".join(LONG))
    prompt = served.pair(*pair)
    assert prompt.truncated
    assert len(prompt.plan.ids) == served.profile.max_tokens
    theirs = script(folder, [pair], QUESTION, room(served, QUESTION))
    assert np.abs(served.vectors([prompt])[:, 0] - theirs).max() <= TOLERANCE


def test_no_name_makes_a_language_model_a_reranker(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="bge_gemma_reranker"):
        load_profile(folder)
