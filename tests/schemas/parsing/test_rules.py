"""Every rule that joins fields is enforced with its code and its path, and lets right requests pass."""

import json

import pytest

from schemas.content.messages import conversations
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.image_embeds import ImageEmbedsRequest
from schemas.errors import RuleError
from schemas.parsing.decode import decode
from schemas.parsing.rules import check_embed_request, check_embedding_request, check_image_embeds_request

USER = {"role": "user", "content": "a"}
SYSTEM = {"role": "system", "content": "Find it."}
OPEN = {"role": "assistant", "content": ""}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}


def check(**body: object) -> EmbeddingRequest:
    request = decode(json.dumps({"model": "m", **body}).encode(), EmbeddingRequest)
    check_embedding_request(request)
    return request


def check_cohere(**body: object) -> None:
    check_embed_request(decode(json.dumps({"model": "m", **body}).encode(), EmbedRequest))


@pytest.mark.parametrize(
    "body",
    [
        {"input": "a"},
        {"input": ""},
        {"input": ["", "a", ""]},
        {"inputs": [{"content": ""}, {"content": [{"type": "text", "text": ""}]}]},
        {"messages": [USER]},
        {"messages": [SYSTEM, USER, OPEN], "continue_final_message": True, "add_special_tokens": True},
        {"messages": [[USER], [SYSTEM, USER]]},
        {"messages": [IMAGE], "instruction": "Find it."},
        {"messages": [USER], "add_generation_prompt": True, "continue_final_message": False},
        {"messages": [USER], "add_generation_prompt": False, "continue_final_message": True},
        {"input": "a", "messages": None, "inputs": None, "stream": False},
        {"input": "a", "continue_final_message": False},
    ],
)
def test_a_right_request_passes(body: dict) -> None:
    check(**body)


@pytest.mark.parametrize(
    ("body", "code", "param", "index"),
    [
        ({}, "missing_input", "input", None),
        ({"input": None}, "missing_input", "input", None),
        ({"input": "a", "messages": [USER]}, "conflicting_input", "messages", None),
        ({"input": "a", "inputs": [{"content": "a"}]}, "conflicting_input", "inputs", None),
        ({"messages": [USER], "inputs": [{"content": "a"}]}, "conflicting_input", "inputs", None),
        ({"input": [1, 2, 3]}, "token_arrays_not_accepted", "input", None),
        ({"input": [[1, 2], [3]]}, "token_arrays_not_accepted", "input", None),
        ({"input": [[]]}, "token_arrays_not_accepted", "input", None),
        ({"input": ["a", 3]}, "token_arrays_not_accepted", "input[1]", 1),
        ({"input": "a", "stream": True}, "invalid_request", "stream", None),
        ({"messages": [USER, [USER]]}, "invalid_request", "messages[1]", None),
        ({"messages": [[USER], USER]}, "invalid_request", "messages[1]", None),
        ({"messages": [SYSTEM]}, "empty_input", "messages", None),
        ({"messages": [[USER], [SYSTEM]]}, "empty_input", "messages[1]", 1),
        ({"messages": [USER, SYSTEM]}, "invalid_request", "messages[1].role", None),
        ({"messages": [[USER], [SYSTEM, SYSTEM, USER]]}, "invalid_request", "messages[1][1].role", 1),
        ({"messages": [SYSTEM, USER], "instruction": "Find."}, "conflicting_input", "instruction", None),
        (
            {"messages": [USER], "add_generation_prompt": True, "continue_final_message": True},
            "invalid_request",
            "continue_final_message",
            None,
        ),
        ({"input": "a", "continue_final_message": True}, "invalid_request", "continue_final_message", None),
        (
            {"messages": [[USER], [USER, IMAGE]], "continue_final_message": True},
            "invalid_request",
            "messages[1][1].content",
            1,
        ),
    ],
)
def test_a_broken_rule_is_refused_with_its_code_and_path(
    body: dict, code: str, param: str | None, index: int | None
) -> None:
    with pytest.raises(RuleError) as caught:
        check(**body)
    assert (caught.value.code, caught.value.param, caught.value.index) == (code, param, index)
    assert caught.value.message == str(caught.value)


def test_refused_token_ids_name_the_setting_of_langchain() -> None:
    with pytest.raises(RuleError, match="check_embedding_ctx_length=False"):
        check(input=[[100, 200]])


@pytest.mark.parametrize(
    "body", [{"texts": ["", "a"]}, {"images": ["x"]}, {"inputs": [{"content": "a"}]}, {"texts": ["a"], "images": None}]
)
def test_a_right_cohere_request_passes(body: dict) -> None:
    check_cohere(**body)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_input", "texts"),
        ({"texts": ["a"], "images": ["x"]}, "conflicting_input", "images"),
        ({"images": ["x"], "inputs": [{"content": "a"}]}, "conflicting_input", "inputs"),
    ],
)
def test_a_broken_cohere_rule_is_refused(body: dict, code: str, param: str) -> None:
    with pytest.raises(RuleError) as caught:
        check_cohere(**body)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_npy_has_no_bfloat16() -> None:
    def checked(**body: object) -> None:
        images = [{"type": "image_url", "image_url": "x"}]
        check_image_embeds_request(decode(json.dumps({"images": images, **body}).encode(), ImageEmbedsRequest))

    checked(features_format="npy", embed_dtype="float16")
    checked(embed_dtype="bfloat16")
    checked(features_format="npy")
    with pytest.raises(RuleError, match="npy files have no bfloat16") as caught:
        checked(features_format="npy", embed_dtype="bfloat16")
    assert (caught.value.code, caught.value.param) == ("invalid_request", "embed_dtype")


def test_messages_are_one_conversation_and_lists_of_messages_are_many() -> None:
    assert len(conversations(check(messages=[SYSTEM, USER]).messages)) == 1
    assert [len(c) for c in conversations(check(messages=[[SYSTEM, USER], [USER]]).messages)] == [2, 1]
