"""Each kind of cross-encoder against sentence-transformers' `CrossEncoder` on the same checkpoint."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from service.errors import InputError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.reranker.checkpoints import MAX_TOKENS, RECIPES, make_cross_encoder, make_modular
from tests.models.served import Served, check_special_texts
from tests.models.text.texts import LONG, TEXTS

PAIRS = [(TEXTS[i], TEXTS[(7 * i + 3) % len(TEXTS)]) for i in range(len(TEXTS))]
EMPTY = [("", "a document"), ("a query", ""), ("", "")]
Both = tuple[Served, CrossEncoder]


MAKERS = {name: partial(make_cross_encoder, name) for name in sorted(RECIPES)} | {
    f"{name}, {pooling} of modules": partial(make_modular, name, pooling=pooling)
    for name, pooling in (("modernbert_cls", "cls"), ("bert", "mean"), ("xlm_roberta", "cls"))
}


@pytest.fixture(scope="module", params=MAKERS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = MAKERS[request.param](tmp_path_factory.mktemp(request.param.replace(", ", "-")) / "checkpoint")
    return Served(folder), CrossEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})


def test_pairs_of_all_lengths_have_the_references_scores_in_a_batch_and_alone(both: Both) -> None:
    served, reference = both
    prompts = [served.pair(*pair) for pair in [*PAIRS, *EMPTY]]
    theirs = reference.predict([*PAIRS, *EMPTY], batch_size=16)
    assert np.abs(served.scores(prompts) - theirs).max() <= TOLERANCE
    assert np.unique(theirs.round(4)).size > len(theirs) / 2  # and they differ from each other
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts[::5]])
    assert np.abs(alone - theirs[::5]).max() <= TOLERANCE


def test_query_and_document_are_not_the_same(both: Both) -> None:
    served, (query, document) = both[0], ("How do I reset my password?", "A natural pool in the limestone.")
    there, back = served.vectors([served.pair(query, document), served.pair(document, query)])[:, 0]
    assert abs(there - back) > 100 * TOLERANCE


@pytest.mark.parametrize("side", ["right", "left"])
def test_long_pairs_are_cut_as_the_reference_cuts_them(both: Both, side: str) -> None:
    served, reference = both
    long = " ".join(LONG)
    pairs = [("short", long), (long, "short"), (long, long), (long[:700], long), (long, long[:650])]
    pairs.append((long[:601], long[9:]))
    reference.tokenizer.truncation_side = side
    try:
        theirs = reference.predict(pairs)
        encoded = reference.tokenizer(pairs, truncation="longest_first", max_length=MAX_TOKENS)["input_ids"]
    finally:
        reference.tokenizer.truncation_side = "right"
    prompts = [served.pair(*pair, side=side) for pair in pairs]
    assert [prompt.plan.ids for prompt in prompts] == encoded
    assert np.abs(served.scores(prompts) - theirs).max() <= TOLERANCE
    assert all(prompt.truncated and len(prompt.plan.ids) == MAX_TOKENS for prompt in prompts)


def test_the_activation_is_the_files_and_texts_are_texts(both: Both) -> None:
    served, reference = both
    assert served.profile.is_reranker
    assert isinstance(reference.activation_fn, torch.nn.Identity) == (served.profile.activation == "identity")
    check_special_texts(served.tokenizer, served.profile)
    with pytest.raises(InputError, match="trained without any"):
        served.pair("", "", "Find it.")


def test_a_classifier_whose_vectors_are_pooled_is_an_embedder(tmp_path: Path) -> None:
    folder = make_cross_encoder("bert", tmp_path / "checkpoint")
    pooled(folder, "pooling_mode_mean_tokens")
    assert not load_profile(folder).is_reranker
    assert load_profile(folder, "cross_encoder").is_reranker


def pooled(folder: Path, mode: str) -> None:
    """Files of sentence-transformers that pool."""
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({mode: True}))
