"""Qwen3-VL-Reranker's prompt of parts as written is what its own chat template makes of them."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Role, Turn
from service.prompt.detect import load_profile
from service.prompt.templates.judged_pair import JUDGE
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import image_file, noise
from tests.models.part_order.templates import Part, rendered

FOLDER = Path(__file__).parents[1] / "reranker" / "oracle" / "checkpoint"
A, B = noise(96, 64, 1), noise(64, 64, 2)
PAIRS: list[tuple[list[Part], list[Part]]] = [
    (["a query"], ["before", A, "after"]),
    (["look at ", A], [B, "between", A, "and behind"]),
    ([A, "a query"], ["first", B]),
    (["a query"], [A]),
]


@pytest.mark.parametrize(("query", "document"), PAIRS)
def test_a_pair_is_rendered_as_the_chat_template_does(query: list[Part], document: list[Part]) -> None:
    profile = load_profile(FOLDER, "qwen3_vl_reranker")
    builder = PromptBuilder(profile, PromptTokenizer(FOLDER))
    assert profile.keeps_order

    def turn(role: Role, parts: list[Part]) -> Turn:
        return Turn(role, tuple(part if isinstance(part, str) else image_file(part) for part in parts))

    conversation = Conversation("Find it.", (turn("query", query), turn("document", document)))
    prompt = builder.build(conversation, Truncation(profile.max_tokens))
    contents = ["<Instruct>: Find it.", "<Query>:", *query, "\n<Document>:", *document]
    template = (FOLDER / "chat_template.jinja").read_text()
    before, *others = rendered(FOLDER, template, [("system", [JUDGE]), ("user", contents)]).split("<|image_pad|>")
    counts = [one.width * one.height // 1024 for one in contents if not isinstance(one, str)]
    whole = before + "".join("<|image_pad|>" * n + rest for n, rest in zip(counts, others, strict=True))
    assert prompt.plan.ids == Tokenizer.from_file(str(FOLDER / "tokenizer.json")).encode(whole).ids
    assert [place.length for place in prompt.placeholders] == counts
