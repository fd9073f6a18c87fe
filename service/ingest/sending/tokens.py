"""Counts the tokens of texts: the server is asked, in few requests, since nobody else has the model's tokenizer."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
import orjson
from msgspec import UNSET, UnsetType

from service.ingest.errors import IngestError
from service.ingest.sending.answers import ItemError
from service.ingest.sending.client import Client, TooLargeError

MAX_TEXTS = 64
MAX_TEXT_BYTES = 128 << 10
"""Of one request; the answer has some 16 bytes for each token."""
PATH = "/tokenize"
SAMPLE = "a pool of clear water"
STEP = 32
"""Room for instructions is given in such steps, so that one more of a similar length leaves the chunks as they are."""


class _Tokens(msgspec.Struct, frozen=True):
    """The tokens of one text; of one that was cut there are more."""

    count: int
    truncated: bool = False
    error: ItemError | UnsetType = UNSET


class _Answer(msgspec.Struct, frozen=True):
    """One entry for each text, in order."""

    data: list[_Tokens]


class TokenCounter:
    """Counts as the model does, the template of a prompt included.

    Attributes:
        max_tokens: of a text without an instruction, so that it fits with each of the run's.
        template_tokens: at most, of what stands around a text.
    """

    def __init__(self, client: Client, model: str, max_tokens: int) -> None:
        self._client = client
        self._model = model
        self.max_tokens = max_tokens
        self.template_tokens = 0

    async def leave_room(self, instructions: Sequence[str]) -> None:
        """Measure the template, and reserve the tokens that the longest instruction takes."""
        counts = await self._ask([(None, SAMPLE), *((one, SAMPLE) for one in instructions)])
        plain, *others = (count or self.max_tokens for count in counts)
        self.template_tokens = plain
        taken = max([0, *(other - plain for other in others)])
        self.max_tokens -= -(-taken // STEP) * STEP
        if self.max_tokens <= plain:
            raise IngestError(
                f"--instruction: it leaves {self.max_tokens} tokens for a text and a template of up to {plain}"
            )

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; 0 of one that has more than the model reads."""
        parts = [self._ask([(None, text) for text in part]) for part in _parts(texts)]
        return [count for counts in await asyncio.gather(*parts) for count in counts]

    async def _ask(self, texts: Sequence[tuple[str | None, str]]) -> list[int]:
        conversations = [
            [
                *([] if instruction is None else [{"role": "system", "content": instruction}]),
                {"role": "user", "content": [{"type": "text", "text": text}]},
            ]
            for instruction, text in texts
        ]
        body = orjson.dumps({"model": self._model, "on_error": "per_item", "messages": conversations})
        try:
            answer = msgspec.json.decode((await self._client.ask(PATH, body)).content, type=_Answer)
        except msgspec.DecodeError as error:
            raise IngestError(f"{PATH} gave an unexpected answer: {error}") from None
        except TooLargeError:
            if len(texts) == 1:
                return [0]  # in pieces it will fit
            middle = len(texts) // 2
            return [*await self._ask(texts[:middle]), *await self._ask(texts[middle:])]
        if len(answer.data) != len(texts):
            raise IngestError(f"{PATH} answered {len(answer.data)} texts, expected {len(texts)}")
        return [0 if one.truncated or one.error is not UNSET else one.count for one in answer.data]


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Texts of one request each."""
    start = num_bytes = 0
    for index, text in enumerate(texts):
        size = len(text.encode(errors="replace"))
        if index > start and (index - start >= MAX_TEXTS or num_bytes + size > MAX_TEXT_BYTES):
            yield texts[start:index]
            start, num_bytes = index, 0
        num_bytes += size
    if start < len(texts):
        yield texts[start:]
