"""Texts that are longer than the model reads: split by its own tokens, so that no run fails for a length."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, image
from tests.ingest.program import Program, by_id, lines, ran

pytestmark = pytest.mark.slow

TEXT = "\n\n".join(f"Paragraph {number} tells of door number {number * 7}, which is red." for number in range(40))
SHORT = "a red door"


def count(server: LiveServer, text: str) -> int:
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    return int(server.ask("/tokenize", {"messages": messages}).json()["count"])


def source(folder: Path, **texts: str) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in texts.items()))
    return path


@pytest.mark.parametrize("text", [TEXT, "x" * 3000, "\u6f22\u5b57" * 700, "\ufdfa" * 90, " \n" * 900 + "end"])
def test_no_chunk_has_more_tokens_than_are_asked_for(builtin: LiveServer, tmp_path: Path, text: str) -> None:
    arguments = (source(tmp_path, a=text, b=SHORT), "--to", tmp_path / "out.jsonl", "--server", builtin.url)
    num_points = Program(*arguments, "--chunk-tokens", "60").end()["points"]
    found = by_id(tmp_path / "out.jsonl")
    assert len(found) == num_points
    assert found["b#chunk=1"]["text"] == SHORT
    chunks = [found[f"a#chunk={number}"] for number in range(1, num_points)]
    assert "".join("".join(chunk["text"] for chunk in chunks).split()) == "".join(text.split())
    assert max(count(builtin, chunk["text"]) for chunk in chunks) <= 60
    for chunk in chunks:
        place = chunk["metadata"]["chunk"]
        assert text[place["start"] : place["end"]] == chunk["text"]
    assert Program(*arguments, "--chunk-tokens", "60").end()["already"] == num_points
    assert "chunk_tokens was 60 and is 61" in Program(*arguments, "--chunk-tokens", "61").end(1)["why"]


def test_what_the_model_does_not_read_as_a_whole_is_split_and_the_rest_is_as_it_was(
    builtin: LiveServer, tmp_path: Path
) -> None:
    limit = builtin.http.get("/v1/models").json()["data"][0]["max_tokens"]
    path = source(tmp_path, long="word " * (limit * 2), short=SHORT)
    arguments = (path, "--to", tmp_path / "out.jsonl", "--server", builtin.url, "--instruction", "Find it. " * 10)
    Program(*arguments).end()
    found = by_id(tmp_path / "out.jsonl")
    assert len(found) > 2
    assert all(line["id"] == "short" or line["metadata"]["chunk"]["of"] == "long" for line in found.values())
    (vector,) = builtin.vectors({"input": [SHORT], "instruction": "Find it. " * 10})
    np.testing.assert_allclose(found["short"]["vector"], vector, rtol=0, atol=TOLERANCE)
    again = Program(*arguments, "--truncate", "--retry-failed").end()
    assert (again["points"], again["already"]) == (0, len(found)), "what is there in chunks stays in chunks"


def test_a_text_that_was_cut_stays_cut(builtin: LiveServer, tmp_path: Path) -> None:
    arguments = (source(tmp_path, a="word " * 20_000), "--to", tmp_path / "out.jsonl", "--server", builtin.url)
    assert Program(*arguments, "--truncate").end()["points"] == 1
    assert Program(*arguments).end()["already"] == 1
    assert [line["id"] for line in lines(tmp_path / "out.jsonl")] == ["a"]


def test_more_tokens_than_the_model_reads_are_refused(builtin: LiveServer, tmp_path: Path) -> None:
    end = Program(
        source(tmp_path, a="a"), "--to", tmp_path / "o.jsonl", "--server", builtin.url, "--chunk-tokens", "9999999"
    )
    assert "--chunk-tokens: got 9999999, and the model reads at most" in end.end(1)["why"]


def test_the_end_gives_reasons_by_number_the_file_and_the_flag_that_helps(builtin: LiveServer, tmp_path: Path) -> None:
    limit = builtin.http.get("/v1/models").json()["data"][0]["max_tokens"]
    (tmp_path / "in.jsonl").write_text(
        "".join(
            json.dumps({"id": number, "text": "word " * 4 * limit, "image": image(3)}) + "\n" for number in range(2)
        )
        + '{"id": "n"}\n'
    )
    arguments = (tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--server", builtin.url)
    ended = ran(*arguments)
    assert ended.returncode == 3
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("cenote ingest: 2 "), last
    assert "1 invalid_record" in last
    assert f"see {tmp_path / 'out.jsonl.dead.jsonl'}" in last
    codes = Program(*arguments).end(3)["failed_by_code"]
    assert codes["invalid_record"] == 1
    assert codes["context_length_exceeded"] == 2
    assert "--retry-failed --truncate cuts what is too long" in last
