"""Large jobs of plain texts in parts: the first run while the prompts of the next are made."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from service.front.inputs.checking import FIRST_CHARS
from service.front.inputs.media_strings import is_medium
from service.front.inputs.sources import num_chars
from service.front.job import Job
from service.prompt.plain_texts import PlainTexts

CHARS_PER_TOKEN = 6
"""More than texts have, so that a part fills a forward; the engine waits a moment for more where one does not."""


class PartSize(NamedTuple):
    """The largest part of a job; a text that is longer is one by itself.

    Attributes:
        num_inputs: most of them.
        num_chars: most characters of their texts.
    """

    num_inputs: int
    num_chars: int

    @classmethod
    def of_forward(cls, max_requests: int, max_tokens: int) -> "PartSize":
        """A part that fills a forward of so many requests or tokens."""
        return cls(max_requests, CHARS_PER_TOKEN * max_tokens)


def parts_of(job: Job, size: PartSize, plain_texts: PlainTexts) -> list[range]:
    """The parts of a large job, as inputs by index; none where its answer, or a refusal, depends on the prompts of all.

    What is refused for one of its inputs has cost nothing: only texts that no model refuses run before others are read.
    """
    if job.queries or not all(ask.is_uniform for ask in job.asks):
        return []
    options = job.inputs[0].options
    texts = [one.source for one in job.inputs if isinstance(one.source, str) and one.options is options]
    if len(texts) < len(job.inputs) or options.max_text_tokens:
        return []
    if any(text[:1] in FIRST_CHARS and is_medium(text) for text in texts):
        return []
    if not job.per_item and not plain_texts.are_accepted(texts, options.like, job.truncation):
        return []
    return _cut(list(map(len, texts)), size)


def most_tokens(job: Job) -> list[int]:
    """More tokens than each of a job's texts has, as a rule: one for each character."""
    return [min(num_chars(one.source), job.truncation.max_tokens) for one in job.inputs]


def _cut(lengths: Sequence[int], size: PartSize) -> list[range]:
    sums = [0, *accumulate(lengths)]
    parts, start = list[range](), 0
    while start < len(lengths):
        most = min(start + size.num_inputs, len(lengths))
        stop = max(start + 1, bisect_right(sums, sums[start] + size.num_chars, start, most + 1) - 1)
        parts.append(range(start, stop))
        start = stop
    return parts
