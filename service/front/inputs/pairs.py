"""Pairs to be scored: a query, read once where all documents share it, and a document, as one conversation."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from service.errors import ServiceError
from service.fairness import Steps
from service.front.job import Job, JobInput
from service.prompt.conversation import Conversation, Part, Turn
from service.prompt.tokenizer.tokenizer import PromptTokenizer

MARGIN = 16
"""Tokens beyond a limit that are read, since the last of a text that was cut may be others than those of the whole."""

Query = Turn | ServiceError
"""A query as it was read; an error where it stands for one of several pairs, of which the others go on."""


def read_queries(job: Job, read: Callable[[JobInput, int], Conversation]) -> Steps[list[Query]]:
    """The queries of a job's pairs; none where its prompts are no pairs. A step is a query.

    Raises:
        ServiceError: one is at fault, unless the job is `per_item` and has a query for each document.
    """
    queries: list[Query] = []
    for index, one in enumerate(job.queries):
        try:
            (turn,) = read(one, index).turns
            queries.append(replace(turn, role="query"))
        except ServiceError as error:
            if not job.per_item or len(job.queries) == 1:
                raise
            queries.append(error.without_frames())
        yield
    return queries


def pair(queries: Sequence[Query], document: Conversation, index: int) -> Conversation:
    """The conversation of the pair `index`, with the instruction of the document's.

    Raises:
        ServiceError: its query is at fault.
    """
    query = queries[index if len(queries) > 1 else 0]
    if isinstance(query, ServiceError):
        raise query
    (turn,) = document.turns
    return replace(document, turns=(query, replace(turn, role="document")))


def with_short_texts(conversation: Conversation, max_tokens: int, tokenizer: PromptTokenizer) -> Conversation:
    """A conversation whose turns have the first `max_tokens` tokens of their texts."""
    turns = tuple(replace(turn, parts=_short(turn.parts, max_tokens, tokenizer)) for turn in conversation.turns)
    return replace(conversation, turns=turns)


def _short(parts: Sequence[Part], num_left: int, tokenizer: PromptTokenizer) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            text = tokenizer.bound.clip(part, num_left + MARGIN, "right")  # a huge one costs no more than its beginning
            offsets = tokenizer.encode(text).offsets
            part = text if len(offsets) <= num_left else text[: offsets[num_left][0]]
            num_left = max(0, num_left - len(offsets))
        kept.append(part)
    return tuple(kept)
