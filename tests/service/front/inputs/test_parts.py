"""Jobs that run in parts; nothing runs of one that may still be refused."""

import random

import pytest

from schemas.content.parts import Content
from schemas.endpoints.embeddings import EmbeddingRequest
from service.errors import InputError
from service.front.inputs.parts import PartSize, parts_of
from service.front.job import Job
from service.front.tenant import SERVICE
from service.outputs.dense import DenseAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation
from tests.bench.checkpoint import minilm
from tests.builders import prompts_of, user
from tests.service.front.inputs.test_reader import input_reader

READER = input_reader()
SIZE = PartSize(256, 30_000)
MANY = [f"text {i}" for i in range(3 * SIZE.num_inputs)]


def job_of(**fields: object) -> Job:
    request = EmbeddingRequest(**fields)  # type: ignore[arg-type]
    return READER.embedding_job(request, (DenseAsk(dimensions=READER.model.profile.dimensions),), SERVICE.tenant)


def parts_in(job: Job) -> list[range]:
    return parts_of(job, SIZE, READER.model.builder.plain_texts)


def test_a_job_of_many_short_texts_is_cut_by_their_number() -> None:
    parts = parts_in(job_of(input=MANY[:-1]))
    assert [len(part) for part in parts] == [SIZE.num_inputs, SIZE.num_inputs, SIZE.num_inputs - 1]


def test_a_job_of_long_texts_is_cut_by_their_characters_and_no_input_is_cut() -> None:
    texts = ["x" * 200] * 400 + ["y" * 2 * SIZE.num_chars] * 2 + ["z"] * 3
    parts = parts_in(job_of(input=texts, truncate_prompt_tokens=-1))
    assert [index for part in parts for index in part] == list(range(len(texts)))
    assert all(sum(len(texts[i]) for i in part) <= SIZE.num_chars or len(part) == 1 for part in parts)
    assert parts[-3:] == [range(400, 401), range(401, 402), range(402, 405)]


@pytest.mark.parametrize(
    "fields",
    [
        {"input": [*MANY, "x" * 100_000]},  # may have too many tokens, and is not to be cut
        {"input": [[1, 2]] * 300},
        {"inputs": [Content(content=text) for text in MANY]},
        {"input": MANY, "instruction": "x" * 5000},
        {"input": MANY, "add_special_tokens": False, "add_generation_prompt": False, "truncate_prompt_tokens": 4},
    ],
)
def test_a_job_that_may_be_refused_runs_whole(fields: dict[str, object]) -> None:
    assert parts_in(job_of(**fields)) == []


@pytest.mark.parametrize("more", [{"truncate_prompt_tokens": -1}, {"on_error": "per_item"}])
def test_texts_of_any_length_run_in_parts_where_none_is_refused_for_all(more: dict[str, object]) -> None:
    assert len(parts_in(job_of(input=[*MANY, "x" * 100_000], **more))) > 3


def test_parts_have_the_prompts_of_the_whole() -> None:
    job = job_of(input=[*MANY, "x" * 100_000], on_error="per_item")
    whole = prompts_of(READER, job)
    parts = [one for part in parts_in(job) for one in prompts_of(READER, job, part)]
    assert parts[:-1] == whole[:-1]
    assert all(isinstance(one, Prompt) for one in whole[:-1])
    refused = parts[-1]
    assert isinstance(refused, InputError)
    assert refused.index == len(MANY)


def test_what_is_accepted_untokenized_is_never_refused() -> None:
    """Texts that become longest: blanks, marks that compose to three characters, bytes without a token of their own."""
    source = random.Random(3)
    builder: PromptBuilder = READER.model.builder
    plain = Conversation(None, ())
    num_accepted = 0
    for _ in range(2000):
        pieces = source.choices(["a", " ", "\n", "ΐ", "\ufb2c", "\U0001d160", "é", "東", "\x00", "ab c"], k=8)
        texts = ["".join(pieces) * source.randint(0, 3) for _ in range(3)]
        truncation = Truncation(source.randint(1, 400), source.choice([None, "left", "right"]))
        if builder.plain_texts.are_accepted(texts, plain, truncation):
            num_accepted += 1
            for text in texts:
                builder.build(user(text), truncation)
    assert 200 < num_accepted < 1800


def test_a_text_that_may_have_no_token_at_all_is_not_accepted_untokenized() -> None:
    """BERT's tokenizers drop white space, and without their own tokens around it nothing is left."""
    bert = input_reader(minilm()).model.builder.plain_texts
    whole = Truncation(256)
    assert bert.are_accepted(["short", "texts", " "], Conversation(None, ()), whole)
    assert not bert.are_accepted(["short", "texts", " "], Conversation(None, (), add_special_tokens=False), whole)
    assert not bert.are_accepted(["short", "\ufdfa" * 8], Conversation(None, ()), whole)
