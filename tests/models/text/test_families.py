"""Each text family against sentence-transformers on the same checkpoint: padded batches there, packed ones here."""

from collections.abc import Callable

import numpy as np
import pytest

from service.errors import InputError
from tests.conftest import TOLERANCE
from tests.models.served import check_special_texts
from tests.models.text.checkpoints import RECIPES
from tests.models.text.conftest import ServedText
from tests.models.text.texts import LONG, TEXTS

FAMILIES = sorted(RECIPES)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, served: Callable[[str], ServedText]) -> ServedText:
    return served(request.param)


def test_texts_of_all_lengths_have_the_references_vectors_together_and_alone(family: ServedText) -> None:
    theirs = family.reference.encode(list(TEXTS), batch_size=16)
    assert np.abs(family.texts(TEXTS) - theirs).max() <= TOLERANCE
    assert np.abs(np.concatenate([family.texts([text]) for text in TEXTS[::3]]) - theirs[::3]).max() <= TOLERANCE
    assert np.abs(theirs - theirs[0])[1:].max(axis=1).min() > 100 * TOLERANCE  # and they differ from each other


def test_each_prompt_of_the_checkpoint_is_put_in_front(family: ServedText) -> None:
    for name in family.reference.prompts:
        theirs = family.reference.encode(list(TEXTS[:12]), prompt_name=name)
        assert np.abs(family.texts(TEXTS[:12], family.profile.input_types[name]) - theirs).max() <= TOLERANCE


def test_queries_and_documents_are_those_of_the_reference(family: ServedText) -> None:
    ours = {role: family.texts(TEXTS[:12], family.profile.input_types[role]) for role in family.profile.input_types}
    queries, documents = (
        family.reference.encode_query(list(TEXTS[:12])),
        family.reference.encode_document(list(TEXTS[:12])),
    )
    if "search_query" in family.reference.prompts:  # sentence-transformers knows no name but its own here
        queries, documents = (
            family.reference.encode(list(TEXTS[:12]), prompt_name=name) for name in ("search_query", "search_document")
        )
    assert np.abs(ours["search_query"] - queries).max() <= TOLERANCE
    assert np.abs(ours["search_document"] - documents).max() <= TOLERANCE


def test_a_long_text_is_cut_where_the_reference_cuts_it(family: ServedText) -> None:
    text = " ".join(LONG)
    theirs = family.reference.encode([text, "short"])
    assert np.abs(family.texts([text, "short"], side="right") - theirs).max() <= TOLERANCE
    assert len(family.token_ids(text)) == family.profile.max_tokens == 512


def test_an_empty_text_has_the_references_vector(family: ServedText) -> None:
    if not family.reference.tokenizer("")["input_ids"]:
        with pytest.raises(InputError, match="0 tokens"):
            family.texts([""])
        return
    assert np.abs(family.texts(["", "x"]) - family.reference.encode(["", "x"])).max() <= TOLERANCE


def test_no_text_becomes_a_special_token(family: ServedText) -> None:
    check_special_texts(family.tokenizer, family.profile)
