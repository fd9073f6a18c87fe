"""ColBERT's token vectors are those of sentence-transformers' `MultiVectorEncoder`, for every encoder and form."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.errors import InputError
from service.front.served_model import load_served_model
from service.ipc.messages import Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs import tokens
from service.outputs.plan import TokenPlan
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.folders.edits import put
from tests.models.late.colberts import (
    DECODERS,
    FAMILIES,
    MARKERS,
    SHAPES,
    TOKEN_WIDTH,
    WITHOUT_HEAD,
    Shape,
    fixed,
    native,
    pylate,
    reference,
    stanford,
)
from tests.models.served import Served, difference
from tests.models.text.checkpoints import make_checkpoint
from tests.models.text.texts import TEXTS

Sided = tuple[str, str]
"""A side, and a text."""
BOTH: Sequence[Sided] = [(("query", "document")[i % 2], text) for i, text in enumerate((*TEXTS, *TEXTS[::-1]))]


class Sides(Served):
    """One whose vectors are several, of texts with their sides."""

    def prompts(self, texts: Sequence[Sided]) -> list[Prompt]:
        return [self.prompt(text, instruction=side, side="right") for side, text in texts]

    def __call__(self, texts: Sequence[Sided]) -> list[np.ndarray]:
        """The vectors of all texts in one packed batch."""
        return self.numbers(self.prompts(texts))


def wanted(folder: Path, texts: Sequence[Sided], batch_size: int = 32) -> list[np.ndarray]:
    """Each side's texts together, as the reference takes them."""
    model = reference(folder)
    sides: dict[str, Any] = {"query": model.encode_query, "document": model.encode_document}
    found: list[np.ndarray] = [np.zeros(0)] * len(texts)
    for name, encode in sides.items():
        places = [i for i, (side, _) in enumerate(texts) if side == name]
        vectors = encode([texts[i][1] for i in places], batch_size=batch_size, convert_to_numpy=True)
        for place, one in zip(places, vectors, strict=True):
            found[place] = one
    return found


def check(folder: Path, batch_size: int = 32) -> Sides:
    """Compare a mixed batch, and some texts alone."""
    served, want = Sides(folder), wanted(folder, BOTH, batch_size)
    assert difference(served(BOTH), want) <= TOLERANCE
    for i in (0, 1, 4, 5, 45, 46):
        assert difference(served([BOTH[i]]), [want[i]]) <= TOLERANCE
    return served


@pytest.mark.parametrize("name", FAMILIES)
def test_every_encoder(name: str, tmp_path: Path) -> None:
    served = check(native(name, tmp_path / "colbert", SHAPES["hidden masks"]))
    assert (served.profile.name, served.profile.outputs) == ("colbert", ("multi",))
    assert (served.profile.dimensions, served.profile.max_tokens) == (TOKEN_WIDTH, 48)


@pytest.mark.parametrize("what", ["hidden masks", "attended masks", "no masks"])
@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder(name: str, what: str, tmp_path: Path) -> None:
    """LFM2.5's own code lets padding into its convolutions, so its texts are alone."""
    served = check(native(name, tmp_path / "colbert", SHAPES[what]), 1 if name == "lfm2" else 32)
    assert (served.profile.name, served.profile.outputs) == ("colbert", ("multi",))


@pytest.mark.parametrize("what", SHAPES)
def test_every_option(what: str, tmp_path: Path) -> None:
    check(native("bert", tmp_path / "colbert", SHAPES[what]))


@pytest.mark.parametrize("what", ["hidden masks", "attended masks", "at least"])
def test_filling_in_windows(what: str, tmp_path: Path) -> None:
    check(native("modernbert", tmp_path / "colbert", SHAPES[what]))


def test_masks_beyond_half_a_local_window_are_those_of_the_references_default(tmp_path: Path) -> None:
    """Beyond 16 tokens to each side no token of a short query is seen: `sdpa`, which is transformers' default, and so
    sentence-transformers' and PyLate's, gives zeros there.

    `eager` gives the mean of all that it has masked, padding too: its vectors depend on the longest of the batch.
    """
    check(native("modernbert", tmp_path / "fixed", Shape(expansion=fixed(300))))
    expansion = {"strategy": "min", "length": 100, "attend": False}
    folder = native("modernbert", tmp_path / "colbert", Shape(expansion=expansion))
    default, eager = reference(folder), reference(folder, attn_implementation="eager")
    alone, beside = ["a short one"], ["a short one", " ".join(TEXTS)[:1000]]
    meant, same, other, another = (
        model.encode_query(texts, convert_to_numpy=True)[:1] for model in (default, eager) for texts in (alone, beside)
    )
    assert len(meant[0]) == 100
    assert max(difference(Sides(folder)([("query", alone[0])]), meant), difference(same, meant)) <= TOLERANCE
    assert min(difference(other, meant), difference(another, meant), difference(other, another)) > 1000 * TOLERANCE


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("is_typed", [True, False])
def test_pylates_files(name: str, is_typed: bool, tmp_path: Path) -> None:
    served = check(pylate(name, tmp_path / "colbert", is_typed=is_typed))
    query, document = served.prompts([("query", "a"), ("document", "a")])
    assert (len(query.plan.ids), query.plan.num_masked > 20) == (32, True)
    assert document.plan.num_masked == 0


@pytest.mark.parametrize("name", [name for name in DECODERS if name not in WITHOUT_HEAD])
def test_pylates_files_of_decoders(name: str, tmp_path: Path) -> None:
    served = check(pylate(name, tmp_path / "colbert"), 1 if name == "lfm2" else 32)
    (query,) = served.prompts([("query", "a")])
    assert (len(query.plan.ids), query.plan.num_masked > 20) == (32, True)


@pytest.mark.parametrize(("side", "said"), [("left", "padding_side"), (None, "tokenizer_class")])
def test_expansions_of_a_tokenizer_that_pads_before_a_text_are_refused(
    side: str | None, said: str, tmp_path: Path
) -> None:
    """Gemma's class does where its files do not say."""
    folder = pylate("gemma", tmp_path / "colbert")
    put("tokenizer_config.json", padding_side=side, tokenizer_class="GemmaTokenizer")(folder)
    with pytest.raises(CheckpointError, match=rf"tokenizer_config\.json has {said} .*; queries are expanded"):
        load_profile(folder)
    put("config_sentence_transformers.json", do_query_expansion=False)(folder)
    assert load_profile(folder).name == "colbert"


@pytest.mark.parametrize("name", ["bert", "modernbert", "lfm2, causal", "qwen3"])
def test_pylates_own_vectors(name: str, tmp_path: Path) -> None:
    """PyLate 1.6 with sentence-transformers 5.3, on these checkpoints: `ColBERT(folder).encode(texts, is_query=...)`.

    Texts with blanks at an end are left out, which sentence-transformers strips in that release, and such whose unknown
    tokens PyLate would drop for punctuation that a small vocabulary has not. LFM2's are of one batch, under
    transformers 5.3, and Qwen3's markers stand behind the first token.
    """
    stored = json.loads((Path(__file__).parent / "pylate_1_6.json").read_text())
    served = Sides(pylate(name, tmp_path / "colbert"))
    for side, rows in stored[name].items():
        want = [np.frombuffer(base64.b64decode(row), "<f4").reshape(-1, TOKEN_WIDTH) for row in rows]
        assert difference(served([(side, text) for text in stored["texts"]]), want) <= TOLERANCE


@pytest.mark.parametrize(
    "said",
    [
        {"do_query_expansion": False},
        {"attend_to_expansion_tokens": True},
        {"query_length": 48, "document_length": 24},
        {"skiplist_words": []},
        {"skiplist_words": None},
        {"query_prefix": "", "document_prefix": ""},
        {"query_prefix": "find: ", "document_prefix": "text: "},
        {"prompts": {"query": "[Q] search: ", "document": "title: none "}},
        {"query_length": None, "document_length": None},
    ],
)
def test_pylates_keys(said: dict[str, object], tmp_path: Path) -> None:
    check(pylate("bert", tmp_path / "colbert", **said))


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"query_maxlen": 40, "doc_maxlen": 64, "attend_to_mask_tokens": True, "mask_punctuation": False},
        {"query_token_id": "[unused1]", "doc_token_id": "[unused0]", "doc_maxlen": 300},
    ],
)
def test_colberts_own_files(metadata: dict[str, object] | None, tmp_path: Path) -> None:
    check(stanford(tmp_path / "colbert", metadata))


@pytest.mark.parametrize("name", ["bert", "modernbert", "xlm_roberta"])
def test_markers_that_are_special_tokens(name: str, tmp_path: Path) -> None:
    """As sentence-transformers saves a checkpoint of PyLate's that it has loaded."""
    reference(pylate(name, tmp_path / "pylate")).save_pretrained(str(tmp_path / "colbert"))
    served = check(tmp_path / "colbert")
    assert served.profile.markers == ()
    spelled = Shape(prompts=dict(zip(("query", "document"), MARKERS, strict=True)), expansion=fixed(32))
    check(native(name, tmp_path / "spelled", spelled, markers=MARKERS))


def test_texts_together_are_texts_alone(tmp_path: Path) -> None:
    """`text_prompts` holds the prompts of many against each."""
    served = Sides(pylate("modernbert", tmp_path / "colbert"))
    for side in ("query", "document"):
        assert len(served.text_prompts(TEXTS, side, "right")) == len(TEXTS)


def test_prompts_that_differ_in_what_is_hidden_or_dropped_are_others(tmp_path: Path) -> None:
    served = Sides(pylate("bert", tmp_path / "colbert"))
    (waiting,) = served.waiting(served.prompts([("document", "Some, words.")]))
    request = waiting.request
    ids, skipped = request.plan.ids, request.plan.skipped
    assert skipped
    plans = [TokenPlan(ids), TokenPlan(ids, num_masked=2), TokenPlan(ids, skipped=skipped)]
    assert len({prompt_digest(Request(id=1, plan=plan, asks=request.asks)) for plan in plans}) == 3


def test_a_family_that_is_named_gives_the_same_profile(tmp_path: Path) -> None:
    ours = native("bert", tmp_path / "colbert", SHAPES["hidden masks"])
    found, named = load_profile(ours), load_profile(ours, "bert")
    assert (named.pooling, named.roles, named.architecture) == (found.pooling, found.roles, "colbert")


def test_lengths_end_at_the_encoders_positions(tmp_path: Path) -> None:
    profile = load_profile(pylate("xlm_roberta", tmp_path / "colbert", document_length=4000))
    assert (profile.roles["document"].max_tokens, profile.roles["query"].max_tokens) == (1022, 32)
    assert profile.max_tokens == 1022


def test_the_skiplist_drops_what_the_vocabulary_has(tmp_path: Path) -> None:
    profile = load_profile(native("bert", tmp_path / "colbert", Shape(skiplist=("?", "no such token", "[UNK]"))))
    assert len(profile.roles["document"].skipped_ids) == 2
    assert not profile.roles["query"].skipped_ids


def test_colberts_own_markers_are_no_words_of_a_client(tmp_path: Path) -> None:
    profile = load_profile(stanford(tmp_path / "colbert", None))
    assert profile.markers == ("[unused0]", "[unused1]")
    assert {one.token_id for side in profile.roles.values() for one in side.markers} < {*profile.protected}


def test_a_sentence_transformer_says_so_and_is_served(tmp_path: Path) -> None:
    make_checkpoint("bert", tmp_path / "checkpoint")
    names = tmp_path / "checkpoint-stock" / "config_sentence_transformers.json"
    names.write_text(json.dumps({"model_type": "SentenceTransformer", "prompts": {}}))
    assert load_profile(names.parent).pooling == "mean"


def test_a_document_of_too_many_vectors_is_refused_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = find_checkpoint(str(native("bert", tmp_path / "colbert", SHAPES["hidden masks"])), None)
    model = load_served_model(checkpoint, served_names=(), strict_reference=False, max_tokens=0)
    monkeypatch.setattr(tokens, "MAX_POOLED", 8)
    ask = tokens.TokensAsk(dimensions=8, pool_factor=3)
    ask.check_prompt(TokenPlan(list(range(10)), skipped=(3, 4)), False, model.offer, "texts[1]", 1)
    with pytest.raises(InputError, match="has 9 vectors; with `pool_factor` it may have 8") as raised:
        ask.check_prompt(TokenPlan(list(range(9))), False, model.offer, "texts[1]", 1)
    assert (raised.value.param, raised.value.index) == ("texts[1]", 1)
