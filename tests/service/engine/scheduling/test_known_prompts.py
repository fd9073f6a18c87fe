"""The engine's loop with prompts that are asked for more than once: coalesced in a batch, and vectors that are kept."""

import pytest

from service.ipc.messages import StepStarted
from tests.service.engine.loop_rig import LoopRig, make_scheduler, request, vectors_of
from tests.service.engine.troubled_runner import NOT_FINITE, POISON, UNFINISHED

PAIRS = ((1, 5), (2, 5), (3, 6), (4, 6))
"""Ids and tokens of four requests, of which each two are coalesced."""


def test_coalesced_requests_run_once_and_each_gets_what_he_asked_for(engine: LoopRig) -> None:
    formats = ("bfloat16", "float32")
    step = engine.run(request(1, 5), request(2, 5, dimensions=16), request(3, 5, output_dtypes=formats), request(4, 6))
    assert {vector.id: {kind: len(row) for kind, row in vector.rows.items()} for vector in vectors_of(step)} == {
        1: {"float32": 32}, 2: {"float32": 64}, 3: {"bfloat16": 16, "float32": 32}, 4: {"float32": 32}
    }  # fmt: skip
    assert {vector.id: vector.rows["float32"][0] for vector in vectors_of(step)} == {1: 5, 2: 5, 3: 5, 4: 6}
    (report,) = engine.reports
    assert (engine.runner.num_batches, report.num_tokens, report.results.num_deduplicated) == (1, 2, 2)
    announced = engine.sent[0]
    assert isinstance(announced, StepStarted)
    assert (announced.kind, announced.num_tokens, announced.ids) == ("forward", 2, [1, 2, 3, 4])


def test_a_prompt_that_fails_fails_all_who_asked_for_it_and_a_format_that_fails_fails_one(engine: LoopRig) -> None:
    asked = [
        request(1, 5),
        request(2, 5, output_dtypes=("float16",)),
        request(3, POISON),
        request(4, POISON, dimensions=16),
    ]
    step = engine.run(*asked, request(5, NOT_FINITE), request(6, NOT_FINITE), request(7, 6))
    assert [vector.id for vector in vectors_of(step)] == [1, 7]
    assert {failure.id: failure.code for failure in step.failures} == {
        2: "non_finite_embedding",
        3: "internal_error",
        4: "internal_error",
        5: "non_finite_embedding",
        6: "non_finite_embedding",
    }


@pytest.mark.parametrize("at_fault", [1, 2])
def test_an_epilogue_that_raises_for_one_request_leaves_its_group_and_the_batch_alone(
    engine: LoopRig, at_fault: int
) -> None:
    unfinished = {at_fault: {"dimensions": UNFINISHED.dimensions}}
    step = engine.run(*[request(id_, token, **unfinished.get(id_, {})) for id_, token in PAIRS])
    assert [(failure.id, failure.code) for failure in step.failures] == [(at_fault, "internal_error")]
    assert [(vector.id, vector.rows["float32"][0]) for vector in vectors_of(step)] == [
        pair for pair in PAIRS if pair[0] != at_fault
    ]
    assert {vector.num_batched for vector in vectors_of(step)} == {len(PAIRS)}
    assert engine.runner.num_batches == 1  # the model did its part
    assert [vector.id for vector in vectors_of(engine.run(request(5, 5)))] == [5]  # and the prompt is not to blame


@pytest.fixture
def keeping() -> LoopRig:
    """The same with a result cache."""
    return LoopRig(make_scheduler(1 << 20))


def test_a_prompt_that_comes_again_is_answered_without_the_model(keeping: LoopRig) -> None:
    keeping.run(request(1, 5), request(2, 6))
    (first,) = keeping.reports
    assert (first.results.num_misses, first.results.num_entries) == (2, 2)
    keeping.sent.clear()
    keeping.submit(
        request(3, 5, dimensions=16), request(4, 7), request(5, 6), request(6, 5, output_dtypes=("float16",))
    )
    keeping.turn()
    known, language = keeping.steps
    assert {vector.id: vector.rows["float32"] for vector in vectors_of(known)} == {3: b"\5" * 64, 5: b"\6" * 32}
    assert [(failure.id, failure.code) for failure in known.failures] == [(6, "non_finite_embedding")]
    _, of_known, of_forward = keeping.reports
    assert (of_known.num_tokens, of_known.results.num_hits, of_known.results.num_misses) == (0, 3, 1)
    assert [vector.id for vector in vectors_of(language)] == [4]
    assert (keeping.runner.num_batches, of_forward.results.num_hits) == (2, 0)  # each is reported once


def test_a_failure_is_never_kept(keeping: LoopRig) -> None:
    keeping.run(request(1, NOT_FINITE), request(2, POISON), request(3, 5))
    num_batches = keeping.runner.num_batches
    again = keeping.run(request(4, NOT_FINITE))
    assert [failure.id for failure in again.failures] == [4]
    assert keeping.runner.num_batches == num_batches + 1
    assert keeping.reports[-1].results.num_entries == 1


def test_more_known_prompts_than_a_step_takes_are_all_answered_before_the_next_step(keeping: LoopRig) -> None:
    keeping.run(request(0, 5))
    keeping.sent.clear()
    keeping.submit(*[request(i, 5) for i in range(1, 151)])
    keeping.submit(request(200, 6))
    keeping.turn()
    assert [len(vectors_of(step)) for step in keeping.steps] == [64, 64, 22, 1]
    assert keeping.answered == [*range(1, 151), 200]
