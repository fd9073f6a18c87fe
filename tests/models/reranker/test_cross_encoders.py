"""Each kind of cross-encoder against sentence-transformers' `CrossEncoder` on the same checkpoint."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from service.checkpoint.errors import UnsupportedModelError
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import InputError
from service.model.architectures import load_model
from service.prompt.conversation import Turn
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.reranker.checkpoints import MAX_TOKENS, RECIPES, change_config, make_cross_encoder
from tests.models.reranker.scored import Scored
from tests.models.special_texts import check_special_texts
from tests.models.text.texts import LONG, TEXTS

PAIRS = [(TEXTS[i], TEXTS[(7 * i + 3) % len(TEXTS)]) for i in range(len(TEXTS))]
EMPTY = [("", "a document"), ("a query", ""), ("", "")]
Reference = tuple[Scored, CrossEncoder]


@pytest.fixture(scope="module", params=sorted(RECIPES))
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = make_cross_encoder(request.param, tmp_path_factory.mktemp(request.param) / "checkpoint")
    reference = CrossEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})
    return Scored(folder), reference


def test_pairs_of_all_lengths_have_the_references_scores_in_a_batch_and_alone(served: Reference) -> None:
    scored, reference = served
    prompts = [scored.text_prompt(*pair) for pair in [*PAIRS, *EMPTY]]
    theirs = reference.predict([*PAIRS, *EMPTY], batch_size=16)
    ours = scored.scores(prompts)
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.unique(theirs.round(4)).size > len(theirs) / 2  # and they differ from each other
    alone = np.concatenate([scored.scores([prompt]) for prompt in prompts[::5]])
    assert np.abs(alone - theirs[::5]).max() <= TOLERANCE


def test_query_and_document_are_not_the_same(served: Reference) -> None:
    scored, _ = served
    query, document = "How do I reset my password?", "A natural pool in the limestone."
    there, back = scored.logits([scored.text_prompt(query, document), scored.text_prompt(document, query)])
    assert abs(there - back) > 100 * TOLERANCE


@pytest.mark.parametrize("side", ["right", "left"])
def test_long_pairs_are_cut_as_the_reference_cuts_them(served: Reference, side: str) -> None:
    scored, reference = served
    long = " ".join(LONG)
    pairs = [
        ("short", long),
        (long, "short"),
        (long, long),
        (long[:700], long),
        (long, long[:650]),
        (long[:601], long[9:]),
    ]
    reference.tokenizer.truncation_side = side
    try:
        theirs = reference.predict(pairs)
        encoded = reference.tokenizer(pairs, truncation="longest_first", max_length=MAX_TOKENS)["input_ids"]
    finally:
        reference.tokenizer.truncation_side = "right"
    prompts = [scored.text_prompt(*pair, side=side) for pair in pairs]
    assert [prompt.plan.ids for prompt in prompts] == encoded
    assert np.abs(scored.scores(prompts) - theirs).max() <= TOLERANCE
    assert all(prompt.truncated and len(prompt.plan.ids) == MAX_TOKENS for prompt in prompts)


def test_the_activation_is_the_files(served: Reference) -> None:
    scored, reference = served
    assert scored.profile.scoring is not None
    assert isinstance(reference.activation_fn, torch.nn.Identity) == (scored.profile.scoring.activation == "identity")


def test_the_check_at_start_passes(served: Reference) -> None:
    """On the stock module's own layers, as on a GPU, and on weights in oneDNN's layout, where they are used."""
    scored, _ = served
    profile = scored.profile
    model = load_model(profile.architecture, scored.folder, torch.device("cpu"), torch.float32, profile.pooling)
    check_forward(model)
    check_forward(scored.model, known_answers(model))


def test_no_text_becomes_a_special_token(served: Reference) -> None:
    scored, _ = served
    check_special_texts(scored.tokenizer, scored.profile)


def test_an_instruction_is_refused(served: Reference) -> None:
    scored, _ = served
    with pytest.raises(InputError, match="trained without any"):
        scored.prompt(Turn("query"), Turn("document"), "Find it.")


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    def changed(**keys: object) -> Path:
        folder = make_cross_encoder("bert", tmp_path / "checkpoint")
        change_config(folder, **keys)
        return folder

    return changed


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"id2label": {"0": "no", "1": "neutral", "2": "yes"}}, "3 labels"),
        ({"id2label": None}, "2 labels"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}, "Tanh"),
        ({"sentence_transformers": {"activation_fn": "mine.Identity"}}, "mine.Identity"),
    ],
)
def test_what_is_no_reranker_of_one_label_is_refused(
    changed: Callable[..., Path], keys: dict[str, object], said: str
) -> None:
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(changed(**keys))


def test_a_classifier_whose_vectors_are_pooled_is_an_embedder(changed: Callable[..., Path]) -> None:
    folder = changed()
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    assert load_profile(folder).scoring is None
    assert load_profile(folder, "cross_encoder").scoring is not None
