"""The scores of a request: its job, embedded as every job, and what its vectors say of each document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.parsing.explain import item_index
from service.errors import CacheMissError, ServiceError
from service.fairness.threads import Steps, all_at_once
from service.front.job import EmbedResult, InputResult
from service.front.scoring.comparison import Comparison
from service.front.scoring.cosine import dot, unit_vector
from service.front.scoring.logit import activated, logit
from service.front.scoring.max_sim import max_sim, mean_max_sim, token_vectors
from service.front.scoring.score_job import score_job
from service.front.scoring.sparse_dot import entries, sparse_dot
from service.front.served_model import ServedModel
from service.front.serving.model_serving import Online
from service.front.tenant import Caller
from service.ipc.sparse_row import SPARSE
from service.ipc.vectors import Row
from service.prompt.profile.profile import Scoring

MAX_NUMBERS_ON_LOOP = 1 << 16
"""Numbers of vectors that are compared on the event loop: in 0.3 ms at most."""
NUMBERS_PER_CHAR = 128
"""Numbers that are compared in the time in which a character is tokenized."""

Score = float | ServiceError
"""What became of one document. Errors stand here only with `per_item`."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The answer to a comparison.

    Attributes:
        scores: of each document, in order.
        result: of the job.
    """

    scores: Sequence[Score]
    result: EmbedResult

    def best(self, top_n: int | None) -> Sequence[tuple[int, float]]:
        """Index and score of the best documents, falling; of equal ones the first in the request comes first."""
        scored = [(index, score) for index, score in enumerate(self.scores) if not isinstance(score, ServiceError)]
        return sorted(scored, key=lambda one: -one[1])[:top_n]

    @property
    def errors(self) -> list[ServiceError]:
        """Why documents have no score, in order."""
        return [score for score in self.scores if isinstance(score, ServiceError)]


async def scores_of(online: Online, asked: Comparison, caller: Caller) -> Scores:
    """Score every document.

    Raises:
        ServiceError: the query is at fault, or a document where the request is not `per_item`; or the service cannot
            take it now.
    """
    model = online.model
    job = score_job(model, asked, caller.tenant, online.reader.max_answer_bytes)
    try:
        result = await online.embedder.embed(job, caller)
    except ServiceError as error:
        _place(error, asked)
        raise
    for one in result.inputs:
        if isinstance(one, ServiceError) and _place(one, asked) and asked.is_one_query:
            raise one
    steps = _steps(model, asked, result.inputs)
    num_numbers = sum(len(row) for one in result.embedded for row in one.vector.rows.values()) // 4
    if num_numbers <= MAX_NUMBERS_ON_LOOP:
        return Scores(all_at_once(steps), result)
    return Scores(await online.embedder.work(steps, num_numbers // NUMBERS_PER_CHAR), result)


def _place(error: ServiceError, asked: Comparison) -> bool:
    """Whether an error is of a query, whose index then is that of its pair, or None where all pairs share it."""
    name = asked.queries.name

    def index_of(param: str) -> int | None:
        return None if asked.is_one_query else item_index(param)

    if isinstance(error, CacheMissError):
        error.missing = tuple(
            msgspec.structs.replace(one, index=index_of(one.param) or 0) if _is_below(one.param, name) else one
            for one in error.missing
        )
    if error.param is None or not _is_below(error.param, name):
        return False
    error.index = index_of(error.param)
    return True


def _is_below(param: str, name: str) -> bool:
    return param == name or param.startswith((f"{name}[", f"{name}."))


def _steps(model: ServedModel, asked: Comparison, inputs: Sequence[InputResult]) -> Steps[list[Score]]:
    """The score of each document; a step is a document."""
    num_documents = len(asked.documents.items)
    score_of = (
        _reranked(model.profile.scoring, asked) if model.profile.scoring else _compared(model, inputs[num_documents:])
    )
    name, scores = SPARSE if model.is_sparse_only else "float32", list[Score]()
    for index, one in enumerate(inputs[:num_documents]):
        scores.append(one if isinstance(one, ServiceError) else score_of(index, one.vector.rows[name]))
        yield
    return scores


def _reranked(scoring: Scoring, asked: Comparison) -> Callable[[int, Row], Score]:
    """What a pair's one number means."""
    return lambda _, row: logit(row) if asked.wants_raw else activated(logit(row), scoring)


def _comparing(model: ServedModel) -> tuple[Callable[[Row], Any], Callable[[Any, Any], float], str]:
    """How a row is read, how two are compared, and the row's name."""
    if model.is_sparse_only:
        return entries, sparse_dot, SPARSE
    if model.is_multi_vector:
        dimensions = model.profile.dimensions
        compare = mean_max_sim if model.profile.divides_scores else max_sim
        return lambda row: token_vectors(row, dimensions), compare, "float32"
    return unit_vector, dot, "float32"


def _compared(model: ServedModel, queries: Sequence[InputResult]) -> Callable[[int, Row], Score]:
    """How near a document's vector, or vectors, are to those of its query."""
    numbers, compare, name = _comparing(model)
    ready = [one if isinstance(one, ServiceError) else numbers(one.vector.rows[name]) for one in queries]

    def score(index: int, row: Row) -> Score:
        query = ready[index if len(ready) > 1 else 0]
        if isinstance(query, ServiceError):
            return query
        return compare(query, numbers(row))

    return score
