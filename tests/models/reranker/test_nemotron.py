"""llama-nemotron-rerank in the layout that was released, against NVIDIA's forward on transformers' own Llama."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.bases import TEMPLATE, ZERANK, made
from tests.models.folders.edits import put, write
from tests.models.served import Served, sigmoid
from tests.models.text.texts import LONG, TEXTS

PAIRS = [(TEXTS[i], TEXTS[(7 * i + 3) % len(TEXTS)]) for i in range(len(TEXTS))]
NAMES = {"model_type": "llama_bidirec", "architectures": ["LlamaBidirectionalForSequenceClassification"]}
POOLED = {"avg": lambda states, mask: (states * mask).sum(1) / mask.sum(1), "cls": lambda states, _: states[:, 0]}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("llama classifier", tmp_path_factory.mktemp("nemotron"))


def released(llama: Path, place: Path, **more: Any) -> Path:
    """The folder as NVIDIA has it: the names of its class, and code of its own that nobody runs."""
    shutil.copytree(llama, place)
    own = {
        "AutoModelForSequenceClassification": "llama_bidirectional_model.LlamaBidirectionalForSequenceClassification"
    }
    put("config.json", **NAMES, auto_map=own, **more)(place)
    return place


def reference(llama: Path, prompts: list[str], pooling: str = "avg", temperature: float = 1.0) -> np.ndarray:
    """Logits of a padded batch, by the steps of the released forward."""
    tokenizer = AutoTokenizer.from_pretrained(llama, padding_side="left")
    config = AutoConfig.from_pretrained(llama)
    config.is_causal = False
    whole: Any = AutoModelForSequenceClassification.from_pretrained(llama, config=config, attn_implementation="eager")
    batch = tokenizer(prompts, return_tensors="pt", padding=True, truncation=True, max_length=400)
    with torch.inference_mode():
        states = whole.model(**batch, use_cache=False).last_hidden_state
        pooled = POOLED[pooling](states, batch["attention_mask"][..., None])
        logits: np.ndarray = (whole.score(pooled) / temperature)[:, 0].numpy()
    return logits


@pytest.mark.parametrize("more", [{}, {"pooling": "avg", "temperature": 0.25}])
def test_scores_are_the_released_forwards(llama: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    served = Served(released(llama, tmp_path / "reranker", **more))
    pairs = [*PAIRS, ("", ""), ("short", " ".join(LONG))]
    theirs = reference(llama, [f"question:{query} \n \n passage:{passage}" for query, passage in pairs], **more)
    prompts = [served.pair(*pair) for pair in pairs]
    assert np.abs(served.vectors(prompts)[:, 0] - theirs).max() <= TOLERANCE
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts[::6]])
    assert np.abs(alone - sigmoid(theirs[::6])).max() <= TOLERANCE
    assert np.ptp(theirs) > 100 * TOLERANCE


def test_a_chat_template_takes_the_place_of_the_prompt(llama: Path, tmp_path: Path) -> None:
    folder = released(llama, tmp_path / "reranker")
    write(TEMPLATE, ZERANK)(folder)
    served = Served(folder)
    text = "".join(served.tokenizer.token_strs(served.pair("a", "b").plan.ids))
    assert text == "<|im_start|>system\na<|im_end|>\n<|im_start|>user\nb<|im_end|>\n"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"pooling": "weighted"}, "pooling 'weighted'"),
        ({"temperature": 0}, "temperature 0"),
        ({"is_causal": True}, "is_causal true"),
    ],
)
def test_keys_that_are_not_known_are_refused(llama: Path, tmp_path: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        load_profile(released(llama, tmp_path / "reranker", **more))
