"""`/tokenize` counts what `/v1/embeddings` reads, token for token, and its ids are the prompt."""

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, image, image_part, text_part, until

Body = dict[str, Any]

LONG = "start " + "middle " * 60 + "end"
USER = {"role": "user", "content": [image_part(image(71)), text_part("a door")]}
SYSTEM = {"role": "system", "content": "Find the door."}

BODIES: dict[str, Body] = {
    "text": {"input": "a red bicycle"},
    "empty text": {"input": ""},
    "texts": {"input": ["a red bicycle", "", "👩‍👩‍👧 東京\n\n", "<|im_end|> is text"]},
    "instruction": {"input": ["a", "b"], "instruction": "Find the door"},
    "items": {"inputs": [{"content": [image_part(image(72, 160, 96)), text_part("x")]}, {"content": "y"}]},
    "images": {"inputs": [{"content": [image_part(image(73)), image_part(image(74, 300, 40))]}]},
    "conversation": {"messages": [SYSTEM, USER, {"role": "assistant", "content": "yes"}]},
    "conversations": {"messages": [[USER], [SYSTEM, {"role": "user", "content": "x"}]]},
    "no generation prompt": {"messages": [USER], "add_generation_prompt": False},
    "open turn": {"messages": [USER, {"role": "assistant", "content": ""}], "continue_final_message": True},
    "no special tokens": {"input": "x", "add_special_tokens": False},
    "instruction of a conversation": {"messages": [USER], "instruction": "Find it."},
    "no open turn": {"messages": [USER], "add_generation_prompt": True, "continue_final_message": False},
    "open turn of a user": {
        "messages": [{"role": "user", "content": "x"}],
        "add_generation_prompt": False,
        "continue_final_message": True,
    },
    "fields that say nothing": {"input": "x", "messages": None, "inputs": None, "continue_final_message": False},
    "empty contents": {"inputs": [{"content": ""}, {"content": [text_part("")]}]},
    "cut right": {"input": [LONG, "x"], "truncate_prompt_tokens": 40},
    "cut left": {"input": LONG, "truncate_prompt_tokens": 40, "truncation_side": "left"},
    "cut to the model": {"input": "x", "truncate_prompt_tokens": -1},
    "every field": {
        "model": "builtin",
        "input": ["x", LONG * 200],
        "input_type": "query",
        "truncate": "END",
        "user": "u",
        "dimensions": 64,
        "encoding_format": "float",
        "embed_dtype": "float16",
        "endianness": "little",
        "normalize": False,
        "on_error": "fail",
        "image_background": "#ffffff",
        "timeout": 1,
        "stream": False,
    },
    "names of others": {"input": LONG * 200, "input_type": "passage", "truncation": True},
}


@pytest.fixture(scope="module")
def accepting(start_server: Callable[..., LiveServer]) -> Any:
    flags = ("--model", str(CHECKPOINT), "--served-name", "builtin", "--token-arrays", "accept")
    server = start_server(*flags).wait_until_ready()
    yield server
    server.stop()


def tokens_of(server: LiveServer, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("/tokenize", body).json()
    return found


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_counts_what_the_embedding_costs(server: LiveServer, body: Body) -> None:
    found = tokens_of(server, **body, return_token_strs=True)
    embedded = server.ask("/v1/embeddings", body).json()
    usage, data = embedded["usage"], found["data"]
    assert found["count"] == usage["prompt_tokens"] == len(found["tokens"]) == len(found["token_strs"])
    assert sum(entry["image_tokens"] for entry in data) == usage["image_tokens"]
    assert [entry["truncated"] for entry in data] == [entry["truncated"] for entry in embedded["data"]]
    assert [entry["index"] for entry in data] == list(range(usage["num_inputs"]))
    assert [one for entry in data for one in entry["tokens"]] == found["tokens"]
    assert [entry["count"] for entry in data] == [len(entry["tokens"]) for entry in data]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_texts_of_its_tokens_are_what_detokenize_says(server: LiveServer, body: Body) -> None:
    found = tokens_of(server, **body, return_token_strs=True)
    said = [server.ask("/detokenize", {"tokens": entry["tokens"]}).json()["prompt"] for entry in found["data"]]
    assert "".join(found["token_strs"]) == "".join(said)
    assert all(text.startswith("<|im_start|>system\n") for text in said)


@pytest.mark.parametrize("text", ["a red bicycle", "", "👩‍👩‍👧 東京\n\n", "\n\nb  "])
def test_the_ids_are_those_of_the_rendered_template_in_one_go(server: LiveServer, text: str) -> None:
    """The reference's way: render, then tokenize everything at once with the checkpoint's own tokenizer."""
    rendered = (
        "<|im_start|>system\nRepresent the user's input.<|im_end|>\n"
        f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    )
    want = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")).encode(rendered).ids
    assert tokens_of(server, prompt=text)["tokens"] == want


def test_prompt_is_input_under_vllms_name(server: LiveServer) -> None:
    asked = {"model": None, "prompt": "x", "messages": None, "add_special_tokens": None, "return_token_strs": None}
    assert tokens_of(server, **asked) == tokens_of(server, input="x")
    assert tokens_of(server, prompt="x")["token_strs"] is None
    assert tokens_of(server, prompt="x")["max_model_len"] == 8192


def test_an_image_is_counted_without_being_decoded(server: LiveServer) -> None:
    before = server.metric("cenote_pictures_decoded_total")
    item = {"content": [image_part(image(75, 640, 320))]}
    assert tokens_of(server, inputs=[item])["data"][0]["image_tokens"] == 640 * 320 // 32**2
    assert server.metric("cenote_pictures_decoded_total") == before


def test_ids_from_tokenize_embed_to_the_vector_of_the_text(accepting: LiveServer) -> None:
    texts = ["a red bicycle", "", "👩‍👩‍👧 東京", "x " * 2100]
    entries = tokens_of(accepting, input=texts)["data"]
    want = accepting.vectors({"input": texts})
    got = accepting.vectors({"input": [entry["tokens"] for entry in entries]})
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
    for entry, vector in zip(entries, want, strict=True):  # each alone, in the flat form: more than 2048 ids, too
        body = {"input": entry["tokens"]}
        np.testing.assert_allclose(accepting.vectors(body)[0], vector, rtol=0, atol=TOLERANCE)
        assert accepting.ask("/v1/embeddings", body).json()["usage"]["prompt_tokens"] == entry["count"]


ADD_NOTHING = dict.fromkeys(("add_special_tokens", "add_generation_prompt", "late_chunking"), False)


def test_ids_are_cut_plainly_when_asked(accepting: LiveServer) -> None:
    token_ids = tokens_of(accepting, input="a red bicycle")["tokens"]
    for side, kept in (("right", token_ids[:9]), ("left", token_ids[-9:])):
        told = {"truncate_prompt_tokens": 9, "truncation_side": side, **ADD_NOTHING}
        want = accepting.vectors({"input": kept})
        for ids in (token_ids, kept):
            np.testing.assert_allclose(accepting.vectors({"input": ids} | told), want, rtol=0, atol=TOLERANCE)
    assert accepting.vectors({"input": [1] * 8192}).shape == (1, 128)


def test_the_plan_says_who_accepts_ids(accepting: LiveServer, server: LiveServer) -> None:
    cards = [one.http.get("/v1/models/builtin").json() for one in (accepting, server)]
    assert [card["accepts_token_arrays"] for card in cards] == [True, False]
    assert server.http.post("/v1/embeddings", json={"input": [1, 2]}).json()["error"]["code"] == (
        "token_arrays_not_accepted"
    )


@pytest.mark.parametrize(
    ("path", "body", "code", "param", "words"),
    [
        ("/v1/embeddings", {"input": [[1], [2, 8136]]}, "invalid_request", "input[1][1]", "from 0 to 8135"),
        ("/v1/embeddings", {"input": [-1]}, "invalid_request", "input[0]", "the token id -1"),
        ("/v1/embeddings", {"input": [1] * 8193}, "context_length_exceeded", "input", "context length is 8192 tokens"),
        *(
            ("/v1/embeddings", {"input": [1, 2, far]}, "invalid_request", "input[2]", "a number that is far from it")
            for far in (10**30, -(10**4000))
        ),
        *(
            ("/v1/embeddings", {"input": [1, pad]}, "invalid_request", "input[1]", "which stands for media")
            for pad in (8134, 8135)  # of images, of videos
        ),
        ("/v1/embeddings", {"input": [1], "instruction": "x"}, "conflicting_input", "instruction", "whole prompt"),
        *(
            ("/v1/embeddings", {"input": mixed}, "invalid_request", "input[1]", "")
            for mixed in ([1, "a"], ["a", 1], [1, [2]], [[1], "a"])
        ),
        ("/v1/embeddings", {"input": [[1], []]}, "empty_input", "input[1]", ""),
        ("/v1/embeddings", {"input": [[]]}, "empty_input", "input[0]", ""),
        ("/v1/embeddings", {"input": [[1]] * 2049}, "too_many_inputs", "input", "at most 2048 items"),
        ("/v1/embeddings", {"input": ["a"] * 2049}, "too_many_inputs", "input", "at most 2048 items"),
        *(
            ("/v1/embeddings", {"input": ids, name: True}, "conflicting_input", name, "")
            for ids in ([1, 2], [[1], [2]])
            for name in ADD_NOTHING
        ),
        ("/tokenize", {"input": [1, 2]}, "token_arrays_not_accepted", "input", "send text"),
        ("/tokenize", {"prompt": "x", "input": "x"}, "conflicting_input", "input", "`prompt` and `input`"),
        ("/tokenize", {}, "missing_input", "prompt", "`prompt`, `input`, `messages`, `inputs`"),
        ("/tokenize", {"prompt": "long " * 9000}, "context_length_exceeded", "prompt", "8192"),
        ("/detokenize", {"tokens": [1, 8136]}, "invalid_request", "tokens[1]", "from 0 to 8135, got 8136"),
        ("/detokenize", {"tokens": [-1]}, "invalid_request", "tokens[0]", "from 0"),
        ("/detokenize", {}, "invalid_request", "tokens", "required"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    accepting: LiveServer, path: str, body: Body, code: str, param: str, words: str
) -> None:
    error = accepting.refusal(path, body)
    assert (error["code"], error["param"]) == (code, param), error["message"]
    assert words in error["message"]
    assert code != "empty_input" or param == f"input[{error['index']}]"


def test_no_tokens_are_no_text(server: LiveServer) -> None:
    assert server.ask("/detokenize", {"tokens": []}).json() == {"prompt": ""}


def test_tokens_are_counted_while_the_engine_is_away(accepting: LiveServer) -> None:
    want = tokens_of(accepting, input="x")
    os.kill(accepting.engine_pid(), signal.SIGKILL)
    until(lambda: accepting.status("/readyz") == 503, "not ready")
    assert tokens_of(accepting, input="x") == want
    accepting.wait_until_ready()


def test_per_item_a_bad_input_has_its_error_in_its_place(server: LiveServer) -> None:
    body = {"input": ["x", LONG * 200, "y"], "on_error": "per_item"}
    found = tokens_of(server, **body)
    assert [entry["count"] > 0 for entry in found["data"]] == [True, False, True]
    assert found["data"][1]["error"]["code"] == "context_length_exceeded"
    assert found["data"][1]["error"]["index"] == 1
    assert found["count"] == server.ask("/v1/embeddings", body).json()["usage"]["prompt_tokens"]
    (entry,) = tokens_of(server, prompt=LONG * 200, on_error="per_item")["data"]
    assert entry["error"]["param"] == "prompt"
