"""The order of parts in the other families: as written where the template holds it, refused by name elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Role, Turn
from service.prompt.detect import load_profile
from service.prompt.templates.judged_pair import JUDGE
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import image_file, noise
from tests.conftest import TOLERANCE, LiveServer
from tests.models.part_order.templates import QWEN2_VL, Part, images_of, rendered
from tests.models.served import Served
from tests.models.vlm.checkpoints import qwen2_5_vl, qwen2_vl
from tests.models.vlm.images import SMALL, TALL, WIDE
from tests.models.vlm.references import PAD, Reference, resized

ITEMS: list[list[Part]] = [
    ["What is this?", SMALL],
    [SMALL, "before", WIDE, "after"],
    ["\nCompare ", TALL, " with ", SMALL, WIDE],
    ["one ", "two"],
    [SMALL, WIDE],
]
MEDIUM = f"<|vision_start|>{PAD}<|vision_end|>"


def served_vectors(served: Served, instruction: str | None = None) -> np.ndarray:
    """Of all items in one batch."""
    return served.vectors([served.prompt(*parts, instruction=instruction) for parts in ITEMS])


@pytest.mark.parametrize(
    ("name", "limits", "seen", "plain_positions"),
    [("gme-Qwen2-VL-small", (4, 1280), (4, 16_384), True), ("Ops-MM-embedding-small", (256, 1280), (256, 1280), False)],
    ids=["GME", "Ops-MM"],
)
def test_the_chat_template_of_qwen2_vl_holds_parts_as_written(
    tmp_path: Path, name: str, limits: tuple[int, int], seen: tuple[int, int], plain_positions: bool
) -> None:
    folder = qwen2_vl(tmp_path / name)
    served, reference = Served(folder), Reference(folder, *limits)
    assert served.profile.keeps_order
    want = []
    for parts in ITEMS:
        turns: Sequence[Any] = [("user", parts)]
        images = [resized(image.convert("RGB"), *seen) for image in images_of(turns)]
        prompt = rendered(folder, QWEN2_VL, turns) + "<|endoftext|>"
        want.append(reference.last_state(prompt, images, plain_positions=plain_positions))
    assert np.abs(served_vectors(served) - np.stack(want)).max() <= TOLERANCE


@pytest.mark.parametrize("instruction", [None, "Look closely: "])
def test_nomics_prompt_of_a_page_holds_parts_as_written(tmp_path: Path, instruction: str | None) -> None:
    """As colpali-engine's `context_prompts` do, which are the whole prompt in the client's words."""
    folder = qwen2_5_vl(tmp_path / "nomic-embed-multimodal-small")
    served, reference = Served(folder, "nomic_multimodal"), Reference(folder, 4, 1280)
    given, want = instruction or "", []
    for parts in ITEMS:
        images = images_of([("user", parts)])
        texts = [part if isinstance(part, str) else MEDIUM for part in parts]
        place = next((i for i, part in enumerate(parts) if isinstance(part, str)), len(parts))
        texts.insert(place, given if place < len(parts) or given else "Describe the image.")
        page = f"<|im_start|>user\n{''.join(texts)}<|im_end|><|endoftext|>"
        query = (given or "Query: ") + "".join(texts[1:]) + "<|endoftext|>" * 10
        want.append(reference.last_state(page if images else query, images, plain_positions=False))
    assert np.abs(served_vectors(served, instruction) - np.stack(want)).max() <= TOLERANCE


def test_every_route_refuses_it(sparse: LiveServer) -> None:
    for route, body in (
        ("/v2/embed", {"texts": ["a"]}),
        ("/rerank", {"query": "a", "documents": ["b"]}),
        ("/score", {"queries": "a", "documents": ["b"]}),
        ("/tokenize", {"input": "a"}),
    ):
        answer = sparse.http.post(route, json=body | {"part_order": "as_written"})
        error = answer.json().get("error", answer.json())
        assert (answer.status_code, error["param"]) == (400, "part_order"), route
    assert sparse.http.get("/v1/models").json()["data"][0]["part_orders"] == ["reference"]


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
