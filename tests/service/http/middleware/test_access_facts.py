"""Fields of a line: who asked, the cost, the reason of a refusal; and the same counted by tenant."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import write_keys
from tests.conftest import CHECKPOINT, LiveServer, data_uri, image, image_part, inputs
from tests.service.http.middleware.access_lines import line_of

KEYS = {"loud": "cen_loud", "quiet": "cen_quiet"}


@pytest.fixture(scope="module")
def keyed(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    path = write_keys(tmp_path_factory.mktemp("keys") / "keys.jsonl", KEYS)
    flags = ("--model", str(CHECKPOINT), "--log-format", "json", "--api-keys", str(path))
    flags += ("--result-cache-bytes", "1000000")
    return start_server(*flags).wait_until_ready()


def ask(server: LiveServer, id_: str, body: dict[str, Any], key: str = "cen_loud") -> dict[str, Any]:
    headers = {"x-request-id": id_, "authorization": f"Bearer {key}"}
    return dict(server.http.post("/v1/embeddings", json=body, headers=headers).json())


def test_a_line_has_tenant_inputs_tokens_cache_and_batch(keyed: LiveServer) -> None:
    same, other = image_part(image(901)), image_part(image(902))
    usage = ask(keyed, "facts", inputs(same, other, same))["usage"]
    line = line_of(keyed, "facts")
    assert (line["tenant"], line["inputs"], line["tokens"]) == ("loud", 3, usage["prompt_tokens"])
    assert (line["cache_hits"], line["cache_misses"]) == (1, 2)
    assert 1 <= line["batch"] <= 3
    assert "code" not in line


def test_what_no_batch_ran_for_says_so(keyed: LiveServer) -> None:
    for id_ in ("first", "again"):
        ask(keyed, id_, {"input": "the same words twice"})
    assert (line_of(keyed, "first")["batch"], line_of(keyed, "again")["batch"]) == (1, 0)


def test_a_refusals_line_has_its_code_and_tenant(keyed: LiveServer) -> None:
    for id_, body in {"rule": {"input": []}, "length": {"input": "a", "dimensions": 7}}.items():
        error = ask(keyed, id_, body, "cen_quiet")["error"]
        line = line_of(keyed, id_)
        assert (line["tenant"], line["code"]) == ("quiet", error["code"])
        assert line["status"] == 400


def test_a_key_that_nobody_has_is_no_tenant(keyed: LiveServer) -> None:
    error = ask(keyed, "stranger", {"input": "a"}, "cen_stranger")["error"]
    line = line_of(keyed, "stranger")
    assert (line["code"], line["status"]) == (error["code"], 401)
    assert "tenant" not in line
    assert "cen_" not in keyed.log.read_text()


def test_items_that_failed_by_themselves_are_counted(keyed: LiveServer) -> None:
    body = inputs(image_part(data_uri(b"no image")), image_part(image(903))) | {"on_error": "per_item"}
    answered = ask(keyed, "items", body)
    line = line_of(keyed, "items")
    assert (line["status"], line["inputs"], line["failed"]) == (200, 2, 1)
    assert line["code"] == answered["data"][0]["error"]["code"]


def test_a_streams_line_has_the_same_when_it_ends(keyed: LiveServer) -> None:
    before = counted(keyed, "inputs")["quiet"]
    headers = {"x-request-id": "lines", "authorization": "Bearer cen_quiet", "content-type": "application/x-ndjson"}
    body = b'{"input":"one"}\n{"input":"two"}\n'
    keyed.http.post("/v1/embeddings/stream", content=body, headers=headers).raise_for_status()
    line = line_of(keyed, "lines")
    assert (line["tenant"], line["lines"], line["inputs"], line["cache_hits"]) == ("quiet", 2, 2, 0)
    assert line["tokens"] > 2
    assert counted(keyed, "inputs")["quiet"] == before + 2


def test_series_count_by_tenant_and_never_by_key(keyed: LiveServer) -> None:
    before = {what: counted(keyed, what) for what in ("requests", "inputs", "tokens", "errors")}
    usage = ask(keyed, "counted", {"input": ["one", "two", "three"]})["usage"]
    ask(keyed, "uncounted", {"input": []})
    line_of(keyed, "uncounted")
    page = keyed.http.get("/metrics").text
    gained = {what: counted(keyed, what)["loud"] - before[what].get("loud", 0) for what in before}
    assert gained == {"requests": 2, "inputs": 3, "tokens": usage["prompt_tokens"], "errors": 1}
    assert not [key for key in (*KEYS.values(), "stranger") if key in page]


def counted(server: LiveServer, what: str) -> dict[str, float]:
    page = server.http.get("/metrics").text
    found = re.findall(rf'^cenote_tenant_{what}_total{{front="0",tenant="([^"]+)"}} (\S+)', page, re.MULTILINE)
    return {name: float(value) for name, value in found}
