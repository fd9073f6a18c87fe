"""Large jobs of plain texts in parts: the first run while the prompts of the next are made."""

from collections.abc import Sequence
from typing import NamedTuple

from service.front.inputs.conversations import conversation_of
from service.front.job import Job
from service.prompt.plain_texts import PlainTexts

PART_INPUTS = 256
PART_CHARS = 32_768
"""Of a part: about a forward of the default settings."""


class Part(NamedTuple):
    """Inputs of a job that run together.

    Attributes:
        inputs: by index.
        num_chars: of their texts.
    """

    inputs: range
    num_chars: int


def parts_of(job: Job, plain_texts: PlainTexts) -> list[Part]:
    """The parts of a job; none where its answer, or a refusal, depends on the prompts of all its inputs.

    What is refused for one of its inputs has cost nothing: only texts that no model refuses run before others are read.
    """
    if len(job.inputs) <= PART_INPUTS or job.queries or job.late_chunking or job.token_bytes or job.is_sparse:
        return []
    options = job.inputs[0].options
    texts = [one.source for one in job.inputs if isinstance(one.source, str) and one.options is options]
    if len(texts) < len(job.inputs) or options.max_text_tokens is not None:
        return []
    if not job.per_item and not plain_texts.are_accepted(texts, conversation_of(options), job.truncation):
        return []
    return _cut(list(map(len, texts)))


def _cut(lengths: Sequence[int]) -> list[Part]:
    parts, start, num_chars = [], 0, 0
    for index, length in enumerate(lengths):
        if index - start == PART_INPUTS or (num_chars + length > PART_CHARS and index > start):
            parts.append(Part(range(start, index), num_chars))
            start, num_chars = index, 0
        num_chars += length
    return [*parts, Part(range(start, len(lengths)), num_chars)]
