"""Every part of the bench through the real sides at a tiny size, so that it cannot rot. No time is asserted."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from service.checkpoint.hub import CHECKPOINT
from service.settings.settings import Settings
from tests.bench import rounds
from tests.bench.agreement import check_agreement
from tests.bench.checkpoint import RERANKER, minilm
from tests.bench.parts.all_parts import GROUPS, PARTS
from tests.bench.parts.minilm import LONGEST
from tests.bench.parts.rerank import FAMILY
from tests.bench.prompts import PromptReader
from tests.bench.scale import TINY
from tests.bench.sides.exported import padded, tokenizer_of
from tests.bench.sides.over_http import OverHttp
from tests.bench.sides.remote import RemoteSide
from tests.bench.sides.sentence_transformers import tokenizer_beside
from tests.bench.stage import Stage
from tests.bench.texts import TextMaker
from tests.bench.work import Work, instructed_body, text_body
from tests.conftest import image

pytestmark = pytest.mark.slow

COUNTED = {"repeat_decoded", "repeat_encoded", "tower_difference", "known_pages_decoded", "known_pages_encoded"}
"""Figures that do not depend on how fast the machine is: their bars hold here, too."""
NOT_INSTALLED = {"text_over_sentence_transformers", "pairs"} | {
    f"minilm{kind}_over_{peer}" for kind in ("", "_short") for peer in ("onnxruntime", "openvino", "torch")
}
"""Figures whose peers are in an environment that only `make bench` makes."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(CHECKPOINT, 1, TINY, tmp_path_factory.mktemp("bench"))
    twin = stage.serve("twin", "--token-arrays", "accept")
    stage.against = OverHttp(twin.url)  # itself, as somebody else's server
    yield stage
    stage.against.close()
    stage.close()


def test_every_file_of_a_part_is_run() -> None:
    folder = Path(__file__).parent / "parts"
    files = {path.stem for path in folder.glob("*.py") if "\nPART = " in path.read_text()}
    assert files == set(PARTS) == {name for group in GROUPS.values() for name in group}
    assert all(part.name == name for name, part in PARTS.items())


@pytest.mark.parametrize("name", PARTS)
def test_a_part_measures_what_it_says(name: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MAX_REST_S", 0.0)  # beside other tests the processors never rest
    if name == "peer_score":  # a twin of the reranker that is measured
        judge = stage.serve("judging_twin", *FAMILY, checkpoint=RERANKER)
        monkeypatch.setattr(stage, "against", OverHttp(judge.url))
    figures = PARTS[name].run(stage)
    values = [figure.value for figure in figures if figure.value is not None]
    assert figures
    assert all(math.isfinite(number) for value in values for number in (value.low, value.median, value.high))
    assert {figure.name for figure in figures if figure.value is None} <= NOT_INSTALLED
    assert {figure.verdict for figure in figures if figure.name in COUNTED} <= {"holds"}


def test_the_bare_forward_gives_the_services_vectors_also_for_images(stage: Stage) -> None:
    texts = Work([text_body(stage.texts.mixed(3)), text_body(["another"])], concurrency=2)
    images = Work([instructed_body([image(1), image(2)], ["one", "another"])])
    for label, work in {"texts": texts, "two images": images}.items():
        for side in (stage.service, stage.bare):
            side.prepare(label, work)
            assert side.run(label) > 0
        ours, theirs = stage.service.vectors(label), stage.bare.vectors(label)
        assert len(ours) == len(theirs) > 1
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_sides_that_give_other_vectors_are_not_compared() -> None:
    one, other = np.array([1.0, 0.0], np.float32), np.array([0.8, 0.6], np.float32)
    assert "cosine at least 1.0" in check_agreement("it", [one], [one])
    with pytest.raises(RuntimeError, match="other vectors"):
        check_agreement("it", [one, one], [one, other])


def test_what_goes_wrong_in_a_side_is_said_here(stage: Stage) -> None:
    assert isinstance(stage.bare, RemoteSide)
    with pytest.raises(RuntimeError, match="KeyError"):
        stage.bare.run("never prepared")
    stage.bare.prepare("still there", Work([text_body(["a"])]))
    assert stage.bare.run("still there") > 0


def test_the_tokens_that_sentence_transformers_is_given_are_the_services(stage: Stage, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_beside(CHECKPOINT, tmp_path))
    texts = stage.texts.mixed(5)
    ours = [prompt.plan.ids for prompt in PromptReader(Settings()).prompts(text_body(texts))]
    for text, ids in zip(texts, ours, strict=True):
        chat: list[Any] = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        rendered = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        assert tokenizer(rendered, add_special_tokens=False)["input_ids"] == ids


def test_the_tokens_that_an_exported_graph_is_given_are_the_services() -> None:
    texts = TextMaker(minilm()).mixed(5, LONGEST)
    ours = [prompt.plan.ids for prompt in PromptReader(Settings(model=str(minilm()))).prompts(text_body(texts))]
    theirs = [encoding.ids for encoding in tokenizer_of(minilm()).encode_batch([*texts, " ".join(texts)])]
    assert ours == theirs[:-1]
    assert len(theirs[-1]) == 256
    ids, mask = padded(theirs)
    assert [list(row[kept == 1]) for row, kept in zip(ids, mask, strict=True)] == theirs
    assert not ids[mask == 0].any()


def test_texts_have_the_tokens_that_were_asked_for(stage: Stage) -> None:
    lengths = [1, 16, 100, 512]
    prompts = PromptReader(Settings()).prompts(text_body([stage.texts.text(n) for n in lengths]))
    template = len(prompts[0].plan.ids) - 1
    assert [len(prompt.plan.ids) - template for prompt in prompts] == pytest.approx(lengths, abs=1)
    short = stage.texts.texts(500, 2)
    assert len(set(short)) == 500
