"""Large jobs of plain texts in parts: the first run while the prompts of the next are made."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from service.front.inputs.conversations import conversation_of
from service.front.inputs.data_uris import is_media_uri
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


class Part(NamedTuple):
    """Inputs of a job that run together.

    Attributes:
        inputs: by index.
        num_chars: of their texts.
        max_chars: of the longest of these.
    """

    inputs: range
    num_chars: int
    max_chars: int


def parts_of(job: Job, size: PartSize, plain_texts: PlainTexts) -> list[Part]:
    """The parts of a job; none where its answer, or a refusal, depends on the prompts of all its inputs.

    What is refused for one of its inputs has cost nothing: only texts that no model refuses run before others are read.
    """
    if len(job.inputs) <= size.num_inputs or job.queries or job.late_chunking or job.token_bytes or job.is_sparse:
        return []
    options = job.inputs[0].options
    texts = [one.source for one in job.inputs if isinstance(one.source, str) and one.options is options]
    if len(texts) < len(job.inputs) or options.max_text_tokens is not None:
        return []
    if not job.per_item and (
        any(map(is_media_uri, texts)) or not plain_texts.are_accepted(texts, conversation_of(options), job.truncation)
    ):
        return []
    return _cut(list(map(len, texts)), size)


def _cut(lengths: Sequence[int], size: PartSize) -> list[Part]:
    sums = [0, *accumulate(lengths)]
    parts, start = list[Part](), 0
    while start < len(lengths):
        most = min(start + size.num_inputs, len(lengths))
        stop = max(start + 1, bisect_right(sums, sums[start] + size.num_chars, start, most + 1) - 1)
        parts.append(Part(range(start, stop), sums[stop] - sums[start], max(lengths[start:stop])))
        start = stop
    return parts
