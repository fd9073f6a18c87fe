"""docs/recipes/from-vllm.md: each row of its tables is posted as it stands, and what the page says of it is true."""

import base64
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
import torch

from service.settings.settings import Settings
from tests.builders import npy_bytes
from tests.conftest import LiveServer, image
from tests.recipe import RECIPES

TEXT = "a red circle"
NUM_TOKENS, WIDTH = 16, 768
"""Of an image of 128 pixels on the built-in model."""

_ROW = re.compile(r"^\| `(?P<sent>[^`]+)` \| (?P<here>[^|]*) \| (?P<instead>[^|]*)\|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_SENDABLE = re.compile(r'\{|"\w+": |(GET|POST) /')


@dataclass(frozen=True)
class Row:
    """A body, its stated fate, and the body that the page shows instead."""

    section: str
    sent: str
    here: str
    instead: str


def rows(section: str) -> list[Row]:
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    found = [Row(section, row["sent"], row["here"], row["instead"]) for row in _ROW.finditer(text)]
    assert len(found) == text.count("\n| `"), "a row of the page has a form that nobody reads"
    return found


def torch_file() -> bytes:
    buffer = io.BytesIO()
    torch.save(torch.zeros(NUM_TOKENS, WIDTH), buffer)
    return buffer.getvalue()


PAGE = (RECIPES / "from-vllm.md").read_text()
FIELDS, CONVERSATIONS, PARTS, ROUTES = ("Fields of `/v1/embeddings`", "Conversations", "Content parts", "Other routes")
STANDS_FOR = {
    "IMAGE": image(71, 128, 128),
    "FRAME": image(72, 128, 128, "JPEG").partition(",")[2],
    "NPY": base64.b64encode(npy_bytes(np.zeros((NUM_TOKENS, WIDTH), np.float32))).decode(),
    "TORCH": base64.b64encode(torch_file()).decode(),
}


def request(section: str, sent: str) -> tuple[str, str, dict[str, Any] | None]:
    """Method, path and body of what stands between backticks in a section."""
    for word, meaning in STANDS_FOR.items():
        sent = re.sub(rf"\b{word}\b", lambda _: meaning, sent) if section == PARTS else sent  # noqa: B023
    if section == ROUTES:
        method, path, body = re.fullmatch(r"(GET|POST) (/\S+)(?: (\{.*\}))?", sent).groups()  # type: ignore[union-attr]
        return method, path, json.loads(body) if body else None
    if section == FIELDS:
        fields = json.loads(f"{{{sent}}}")
        return "POST", "/v1/embeddings", fields if "messages" in fields else {"input": TEXT} | fields
    if section == PARTS:
        return "POST", "/v1/embeddings", {"messages": [{"role": "user", "content": [json.loads(sent)]}]}
    return "POST", "/v1/embeddings", json.loads(sent)


def answer_to(server: LiveServer, section: str, sent: str) -> httpx.Response:
    method, path, body = request(section, sent)
    return server.http.request(method, path, json=body)


ROWS = [row for section in (FIELDS, CONVERSATIONS, PARTS, ROUTES) for row in rows(section)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sent[:60])
def test_a_body_of_vllms_is_taken_or_refused_as_the_page_says(builtin: LiveServer, row: Row) -> None:
    answer = answer_to(builtin, row.section, row.sent)
    if row.here.startswith("refused: "):
        assert 400 <= answer.status_code < 500
        assert answer.json()["error"]["code"] == _CODE.findall(row.here)[0], answer.text
    else:
        assert row.here.startswith("taken")
        assert answer.status_code == 200, answer.text
    for code in filter(_SENDABLE.match, _CODE.findall(row.instead)):
        instead = answer_to(builtin, row.section, code)
        assert instead.status_code == 200, f"{code}: {instead.text}"


@pytest.mark.parametrize("row", [row for row in ROWS if "the same as" in row.here], ids=lambda row: row.sent[:60])
def test_what_is_said_to_be_the_same_is(builtin: LiveServer, row: Row) -> None:
    got = answer_to(builtin, row.section, row.sent).json()["data"]
    want = answer_to(builtin, row.section, _CODE.findall(row.here)[0]).json()["data"]
    assert len(got) == len(want)
    np.testing.assert_allclose(
        [entry["embedding"] for entry in got], [entry["embedding"] for entry in want], rtol=0, atol=1e-5
    )


def test_answers_differ_from_vllms_as_the_page_says(builtin: LiveServer) -> None:
    plan = builtin.http.get("/v1/models").json()["data"][0]
    assert ("max_tokens" in plan, "max_model_len" in plan) == (True, False)
    alias = plan["aliases"][0]
    answer = builtin.ask("/v1/embeddings", {"input": TEXT, "model": alias}).json()
    assert answer["model"] == alias
    assert {"prompt_tokens_details", "completion_tokens"} <= set(answer["usage"])
    refused = builtin.http.post("/v1/embeddings", json={"input": TEXT, "dimension": 64})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_field")
    assert builtin.http.get("/v1/models").headers["x-request-id"]


def test_every_flag_that_the_page_names_is_a_setting() -> None:
    (start,) = re.findall(r"^## Start\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    ours = [cell for line in start.splitlines() if line.startswith("| `") for cell in line.split("|")[2:3]]
    elsewhere = PAGE.replace(start, "")
    flags = set(re.findall(r"`--([a-z-]+)", "".join(ours)) + re.findall(r"with `--([a-z-]+)", elsewhere))
    assert len(flags) > 10
    assert not {flag.replace("-", "_") for flag in flags} - set(Settings.__struct_fields__)
