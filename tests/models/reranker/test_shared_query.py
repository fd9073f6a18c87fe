"""What the pairs of one query begin with is computed once for all of a batch."""

from pathlib import Path

import numpy as np
import pytest

from service.model.packed.segments import plan_segments
from service.prompt.conversation import Turn
from tests.conftest import TOLERANCE
from tests.models.reranker.scored import Scored

CHECKPOINT = Path(__file__).parent / "oracle" / "checkpoint"
QUERY = " ".join(f"word{i}" for i in range(60))
DOCUMENTS = [f"{name} is a document of {i} words and more." for i, name in enumerate("abcdefgh")]


@pytest.fixture(scope="module")
def scored() -> Scored:
    return Scored(CHECKPOINT, "qwen3_vl_reranker")


def test_pairs_of_one_query_are_rows_of_their_documents_alone(scored: Scored) -> None:
    prompts = [scored.text_prompt(QUERY, document).token_ids for document in DOCUMENTS]
    num_shared = next(i for i, ids in enumerate(zip(*prompts, strict=False)) if len({*ids}) > 1)
    num_own = [len(one) - num_shared for one in prompts]
    plan = plan_segments(np.concatenate(prompts), list(map(len, prompts)), np.zeros(0, np.int64))
    assert num_shared > max(num_own)
    assert len(plan.tokens) <= num_shared + sum(num_own)


def test_a_pair_has_the_score_among_others_of_its_query_that_it_has_alone(scored: Scored) -> None:
    prompts = [scored.prompt(Turn("query", (), QUERY), Turn("document", (), one)) for one in DOCUMENTS]
    alone = np.concatenate([scored.scores([prompt]) for prompt in prompts])
    assert np.abs(scored.scores(prompts) - alone).max() <= TOLERANCE
