"""The scores of a request: its job, embedded as every job, and what its vectors say of each document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from schemas.parsing.explain import item_index
from service.checkpoint.reranker_files import Activation
from service.errors import CacheMissError, ServiceError
from service.fairness import Steps
from service.fairness.threads import all_at_once
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.front.scoring.comparison import Comparison, score_job
from service.front.served_model import ServedModel
from service.front.serving.model_serving import Online
from service.front.tenant import Caller
from service.outputs.block import Row
from service.outputs.score import activated, logit

NUMBERS_PER_CHAR = 128
"""Numbers of vectors that are read in the time in which a character is tokenized."""
PRODUCTS_PER_CHAR = 1 << 14
"""Products of MaxSim that are summed in that time."""
MAX_CHARS_ON_LOOP = 512
"""Characters tokenized in the time of a comparison, up to which it runs on the event loop: in 0.3 ms at most."""

Score = float | ServiceError
"""Result of one document. Errors stand here only with `per_item`."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The answer to a comparison.

    Attributes:
        scores: of each document, in order.
    """

    scores: Sequence[Score]
    result: EmbedResult

    def best(self, top_n: int) -> Sequence[tuple[int, float]]:
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
    job = score_job(model, asked, caller.tenant)
    try:
        result = await online.embedder.embed(job, caller)
    except ServiceError as error:
        _place(error, asked)
        raise
    for one in result.inputs:
        if isinstance(one, ServiceError) and _place(one, asked) and asked.is_one_query:
            raise one
    steps = _steps(model, asked, result.inputs)
    num_chars = _num_chars(model, asked, result)
    if num_chars <= MAX_CHARS_ON_LOOP:
        return Scores(all_at_once(steps), result)
    return Scores(await online.embedder.compare(steps, num_chars, caller), result)


def _num_chars(model: ServedModel, asked: Comparison, result: EmbedResult) -> int:
    """Number of characters that are tokenized in the time of the comparison."""
    num_documents = len(asked.documents.items)
    sizes = [0 if isinstance(one, ServiceError) else _num_numbers(one) for one in result.inputs]
    num_products = 0
    queries, documents = sizes[num_documents:], sizes[:num_documents]
    if queries:  # a reranker's are in its pairs
        pairs = zip(queries * num_documents if asked.is_one_query else queries, documents, strict=True)
        num_products = sum(query * document for query, document in pairs) // model.profile.dimensions
    return sum(sizes) // NUMBERS_PER_CHAR + num_products // PRODUCTS_PER_CHAR


def _num_numbers(one: EmbeddedInput) -> int:
    return sum(map(len, one.vector.rows.values())) // 4


def _place(error: ServiceError, asked: Comparison) -> bool:
    """True if an error is of a query, whose index then is that of its pair, or None where all pairs share it."""
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
    """The score of each document; a step is a document, or a block of one."""
    num_documents = len(asked.documents.items)
    offer = model.offer
    score_of = _reranked(offer.activation, asked) if offer.is_reranker else _compared(model, inputs[num_documents:])
    scores: list[Score] = []
    for index, one in enumerate(inputs[:num_documents]):
        scores.append(one if isinstance(one, ServiceError) else (yield from score_of(index, _row(one))))
    return scores


def _reranked(activation: Activation, asked: Comparison) -> Callable[[int, Row], Steps[Score]]:
    """Return the function that turns a pair's one number into its score."""

    def score(_: int, row: Row) -> Steps[Score]:
        yield
        return logit(row) if asked.wants_raw else activated(logit(row), activation)

    return score


def _row(one: EmbeddedInput) -> Row:
    """The only row of an input: one output is asked for, in one format."""
    (row,) = one.vector.rows.values()
    return row


def _compared(model: ServedModel, queries: Sequence[InputResult]) -> Callable[[int, Row], Steps[Score]]:
    """Return the function that compares a document's vectors with those of its query."""
    numbers, compare = model.own.compare(model.offer)
    ready = [one if isinstance(one, ServiceError) else numbers(_row(one)) for one in queries]

    def score(index: int, row: Row) -> Steps[Score]:
        query = ready[index if len(ready) > 1 else 0]
        return query if isinstance(query, ServiceError) else (yield from compare(query, numbers(row)))

    return score
