"""MTEB's wrappers of OpenAI's, Cohere's and Voyage's clients, and an evaluation of a small task of our own by each.

No data set and no tokenizer is fetched: the task is made here, and the tokenizers by which two wrappers count (never
what is sent) are given in the ways that their libraries offer.
"""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import openai
import pytest
import voyageai
from datasets import Dataset
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_implementations.cohere_models import CohereTextEmbeddingModel
from mteb.models.model_implementations.cohere_models import model_prompts as cohere_prompts
from mteb.models.model_implementations.openai_models import OpenAIModel
from mteb.models.model_implementations.voyage_models import VoyageModel
from mteb.models.model_implementations.voyage_models import model_prompts as voyage_prompts
from mteb.models.model_meta import ModelMeta
from torch.utils.data import DataLoader

from tests.clients.plain import DIMENSIONS, MODEL, Plain, assert_same

PAIRS = [
    ("a red circle", "a red circle", 5.0),
    ("a red circle", "one round red shape", 4.0),
    ("a red circle", "a blue circle", 2.5),
    ("two green squares", "a pair of squares in green", 4.0),
    ("a yellow star", "three blue triangles", 0.5),
]
TEXTS = [text for first, second, _ in PAIRS for text in (first, second)]
TOKENIZER = Path(__file__).parents[3] / "service" / "model" / "builtin" / "checkpoint" / "tokenizer.json"


class DrawnShapes(AbsTaskSTS):
    """Pairs of captions with how alike they are."""

    metadata = TaskMetadata(
        name="DrawnShapes",
        description="captions of drawn shapes",
        dataset={"path": "none", "revision": "1"},
        type="STS",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="cosine_spearman",
    )

    def load_data(self, **_: Any) -> None:
        first, second, score = zip(*PAIRS, strict=True)
        self.dataset = {"test": Dataset.from_dict({"sentence1": first, "sentence2": second, "score": score})}
        self.data_loaded = True


@pytest.fixture
def by_openai(plain: Plain) -> AbsEncoder:
    sys.path.insert(0, str(Path(__file__).parent))  # tiktoken finds encodings in packages named `tiktoken_ext`
    client = openai.OpenAI(base_url=f"{plain.url}/v1", api_key="unused")
    return OpenAIModel(MODEL, max_tokens=512, tokenizer_name="single_bytes", embed_dim=DIMENSIONS, client=client)


@pytest.fixture
def by_cohere(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> AbsEncoder:
    monkeypatch.setenv("CO_API_URL", plain.url)
    monkeypatch.setenv("CO_API_KEY", "unused")
    return CohereTextEmbeddingModel(MODEL, revision="1", model_prompts=cohere_prompts)


@pytest.fixture
def by_voyage(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> AbsEncoder:
    here = partial(voyageai.Client, api_key="unused", base_url=f"{plain.url}/v1")
    monkeypatch.setattr(voyageai, "Client", here)  # the wrapper has no argument for an address
    _keep_a_tokenizer()
    return VoyageModel(MODEL, model_prompts=voyage_prompts)


def _keep_a_tokenizer() -> None:
    """As the hub's cache would have it after a download of `voyageai/builtin`."""
    kept = Path.home() / ".cache" / "huggingface" / "hub" / f"models--voyageai--{MODEL}"
    (kept / "snapshots" / "1").mkdir(parents=True, exist_ok=True)
    (kept / "refs").mkdir(exist_ok=True)
    (kept / "refs" / "main").write_text("1")
    shutil.copy(TOKENIZER, kept / "snapshots" / "1" / "tokenizer.json")


@pytest.fixture(params=["by_openai", "by_cohere", "by_voyage"])
def encoder(request: pytest.FixtureRequest) -> AbsEncoder:
    encoder = request.getfixturevalue(request.param)
    encoder.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": f"cenote/{request.param}"})
    return encoder


def test_a_wrapper_gets_the_vectors_of_its_texts_in_order(encoder: AbsEncoder, plain: Plain) -> None:
    batches = DataLoader([{"text": text} for text in TEXTS], batch_size=4)
    task = DrawnShapes.metadata
    vectors = encoder.encode(batches, task_metadata=task, hf_split="test", hf_subset="default")
    assert_same(np.asarray(vectors), plain.vectors({"input": TEXTS}))


def test_a_task_is_evaluated(encoder: AbsEncoder) -> None:
    result = mteb.evaluate(encoder, DrawnShapes(), cache=None, co2_tracker=False, show_progress_bar=False)
    score = result.task_results[0].get_score()
    assert 0.5 < score <= 1
