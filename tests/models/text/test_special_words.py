"""Special tokens spelled in a client's text: text by default, the reference's tokens under `--strict-reference`."""

from collections.abc import Callable

import numpy as np
import pytest

from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.text.conftest import ServedText


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
