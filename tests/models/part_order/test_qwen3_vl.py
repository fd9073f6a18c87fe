"""`part_order: as_written` gives the vectors of the checkpoint's own chat template, on every route that takes parts.

The reference is transformers alone: `apply_chat_template`, one string to the tokenizer, the stock model's forward.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer
from transformers import Qwen2VLImageProcessorPil, Qwen3VLModel

from service.model.load import load_stock
from tests.builders import image_bytes, noise
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, data_uri, frames_part, image_part, text_part
from tests.models.part_order.templates import Part, images_of, rendered
from tests.stream_client import NDJSON

INSTRUCTION = "Represent the user's input."
A, B, C = noise(96, 64, 1), noise(64, 128, 2), noise(64, 64, 3)
"""Of sizes that no resize changes."""
ITEMS: dict[str, list[Part]] = {
    "a text before an image": ["What is this?", A],
    "each image between texts": [A, "before", B, "after"],
    "texts around images": ["Compare ", A, " with ", B, C, "\nand say more."],
    "several texts": ["one ", "two", A, " three", "four"],
    "a newline first": ["\nfirst", A],
    "empty texts": ["", A, "", B],
    "images alone": [B, A],
    "a text alone": ["a lighthouse"],
}
AS_WRITTEN = {"part_order": "as_written"}
Turns = Sequence[tuple[str, Sequence[Part]]]


class Reference:
    """transformers' own model under the checkpoint's template."""

    def __init__(self) -> None:
        self.stock = load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), torch.float32)
        self.tokenizer = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))
        self.template = (CHECKPOINT / "chat_template.jinja").read_text()
        halves = [0.5, 0.5, 0.5]
        self.processor = Qwen2VLImageProcessorPil(patch_size=16, image_mean=halves, image_std=halves, do_resize=False)

    def ids(self, turns: Turns) -> list[int]:
        """The tokens, each image as often as it has visual tokens."""
        before, *others = rendered(CHECKPOINT, self.template, turns).split("<|image_pad|>")
        counts = [one.width * one.height // 1024 for one in images_of(turns)]
        ids: list[int] = self.tokenizer.encode(
            before + "".join("<|image_pad|>" * n + rest for n, rest in zip(counts, others, strict=True))
        ).ids
        return ids

    @torch.inference_mode()
    def vector(self, turns: Turns) -> np.ndarray:
        """Of the last token, at length 1."""
        ids, images = torch.tensor([self.ids(turns)]), images_of(turns)
        seen: dict[str, Any] = {}
        if images:
            seen = dict(self.processor(images=images, return_tensors="pt"))
            seen["mm_token_type_ids"] = (ids == self.stock.config.image_token_id).int()
        self.stock.rope_deltas = None
        out = self.stock(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **seen)
        return torch.nn.functional.normalize(out.last_hidden_state[0, -1], dim=0).numpy()


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference()


def turns_of(parts: Sequence[Part]) -> Turns:
    return [("system", [INSTRUCTION]), ("user", parts)]


def image_of(image: Image.Image) -> dict[str, Any]:
    return image_part(data_uri(image_bytes(image)))


def content(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [text_part(one) if isinstance(one, str) else image_of(one) for one in parts]


@pytest.mark.parametrize("name", ITEMS)
def test_every_route_gives_the_vector_of_the_chat_template(server: LiveServer, reference: Reference, name: str) -> None:
    want, parts = reference.vector(turns_of(ITEMS[name])), content(ITEMS[name])
    cohere = server.ask("/v2/embed", {"inputs": [{"content": parts}], **AS_WRITTEN}).json()
    got = {
        "inputs": server.vectors({"inputs": [{"content": parts}], **AS_WRITTEN})[0],
        "messages": server.vectors({"messages": [{"role": "user", "content": parts}], **AS_WRITTEN})[0],
        "/v2/embed": np.array(cohere["embeddings"]["float"][0], "<f4"),
        "stream": streamed(server, {"content": parts})[1],
        "stream of messages": streamed(server, {"messages": [{"role": "user", "content": parts}]})[1],
    }
    assert {route: float(np.abs(vector - want).max()) for route, vector in got.items() if not near(vector, want)} == {}
    tokens = server.ask("/tokenize", {"inputs": [{"content": parts}], **AS_WRITTEN}).json()["tokens"]
    assert tokens == reference.ids(turns_of(ITEMS[name]))


def test_all_of_them_together_give_what_each_gives_alone(server: LiveServer, reference: Reference) -> None:
    body = {"inputs": [{"content": content(parts)} for parts in ITEMS.values()], **AS_WRITTEN}
    want = np.stack([reference.vector(turns_of(parts)) for parts in ITEMS.values()])
    assert near(server.vectors(body), want)


def test_a_conversation_of_several_turns_keeps_each_turns_order(server: LiveServer, reference: Reference) -> None:
    turns: Turns = [
        ("system", ["Compare."]),
        ("user", ["first ", A]),
        ("assistant", ["a reply"]),
        ("user", [B, "second", C]),
    ]
    messages = [{"role": role, "content": content(parts)} for role, parts in turns]
    assert near(server.vectors({"messages": messages, **AS_WRITTEN})[0], reference.vector(turns))


def test_absent_means_the_references_order_in_conversations_too(server: LiveServer, reference: Reference) -> None:
    parts = content(ITEMS["each image between texts"])
    want = reference.vector(turns_of([A, B, "beforeafter"]))
    assert np.abs(reference.vector(turns_of(ITEMS["each image between texts"])) - want).max() > 100 * TOLERANCE
    for order in ({}, {"part_order": "reference"}, {"part_order": None}):
        assert near(server.vectors({"messages": [{"role": "user", "content": parts}], **order})[0], want)
        assert near(server.vectors({"inputs": [{"content": parts}], **order})[0], want)


def test_a_video_stays_behind_the_text_before_it(server: LiveServer) -> None:
    """Its times are words of the prompt, tokenized together with the text in front of them."""
    frames = frames_part([data_uri(image_bytes(noise(64, 64, seed))) for seed in (5, 6)])
    parts = [text_part("What? "), frames, text_part("<end>"), image_of(A)]
    body = {"inputs": [{"content": parts}], "return_token_strs": True, **AS_WRITTEN}
    answer = server.ask("/tokenize", body).json()
    whole = "".join(answer["token_strs"])
    frame = "<|vision_start|>" + "<|video_pad|>" * whole.count("<|video_pad|>") + "<|vision_end|>"
    pads = "<|image_pad|>" * 6
    prompt = (
        f"<|im_start|>system\n{INSTRUCTION}<|im_end|>\n<|im_start|>user\nWhat? <0.2 seconds>{frame}<end>"
        f"<|vision_start|>{pads}<|vision_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    assert whole.startswith(prompt)
    assert answer["tokens"] == Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")).encode(prompt).ids


@pytest.mark.parametrize(("side", "kept"), [("right", "aaaa"), ("left", "cccc")])
def test_texts_are_cut_as_if_they_were_one_and_media_stay(server: LiveServer, side: str, kept: str) -> None:
    frames = frames_part([data_uri(image_bytes(noise(64, 64, seed))) for seed in (5, 6)])
    parts = [text_part("aaaa " * 20), frames, text_part("bbbb " * 20), image_of(A), text_part("cccc " * 20)]
    body = {"inputs": [{"content": parts}], **AS_WRITTEN}
    whole = server.ask("/tokenize", body).json()
    num_seen = whole["data"][0]["image_tokens"] - 6
    limit = whole["count"] - 60
    cut = {"truncate_prompt_tokens": limit, "truncation_side": side, "return_token_strs": True}
    short = server.ask("/tokenize", body | cut).json()
    text = "".join(short["token_strs"])
    assert short["count"] == limit
    assert short["data"][0]["truncated"]
    assert text.count("<|video_pad|>") == num_seen
    assert (text.count("<|image_pad|>"), text.count("<0.2 seconds>")) == (6, 1)
    assert text.count(kept) == 20
    assert text.count({"aaaa": "cccc", "cccc": "aaaa"}[kept]) < 20


def test_an_order_has_a_fingerprint_of_its_own(server: LiveServer) -> None:
    """Vectors of both do not belong in one index."""
    body = {"inputs": [{"content": content([A, "after"])}]}
    made_by = [
        server.ask(route, body | order | more).headers["x-model-fingerprint"]
        for route, more in (("/v1/embeddings", {}), ("/v2/embed", {"input_type": "image"}))
        for order in ({}, {"part_order": "reference"}, AS_WRITTEN)
    ]
    assert made_by[:3] == made_by[3:]
    assert made_by[0] == made_by[1] == server.http.get("/v1/models").json()["data"][0]["fingerprint"]
    assert made_by[2] != made_by[0]
    head, _, last = streamed(server, {"input": "a"})
    assert head == last == made_by[2]


def test_scores_are_of_documents_as_written(server: LiveServer, reference: Reference) -> None:
    document = ["before", A, "after"]
    query = [("system", ["Retrieve images or text relevant to the user's query."]), ("user", ["a query"])]
    want = float(reference.vector(query) @ reference.vector(turns_of(document)))
    documents = [{"content": content(document)}]
    asked = {"query": "a query", "documents": documents, **AS_WRITTEN}
    for route in ("/rerank", "/v1/rerank", "/v2/rerank"):
        assert abs(server.ask(route, asked).json()["results"][0]["relevance_score"] - want) <= TOLERANCE
    score = server.ask("/score", {"queries": "a query", "documents": documents, **AS_WRITTEN}).json()
    assert abs(score["data"][0]["score"] - want) <= TOLERANCE
    before = server.ask("/rerank", {"query": "a query", "documents": documents}).json()
    assert abs(before["results"][0]["relevance_score"] - want) > TOLERANCE


def test_the_card_lists_both_orders(server: LiveServer) -> None:
    assert server.http.get("/v1/models").json()["data"][0]["part_orders"] == ["reference", "as_written"]


def near(vectors: np.ndarray, want: np.ndarray) -> bool:
    return bool(np.abs(vectors - want).max() <= TOLERANCE)


def streamed(server: LiveServer, line: dict[str, Any]) -> tuple[str, np.ndarray, str]:
    """The fingerprint of the head, the vector of the line, and the fingerprint of the end."""
    path, raw = "/v1/embeddings/stream?part_order=as_written", json.dumps(line).encode() + b"\n"
    answer = server.http.post(path, content=raw, headers=NDJSON)
    first, last = map(json.loads, answer.text.splitlines())
    return answer.headers["x-model-fingerprint"], np.array(first["embedding"], "<f4"), last["fingerprint"]
