"""Mutated bodies at the decoder, in process: a request comes out, or a refusal of ours, and nothing else."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.base import Wire
from schemas.errors import RuleError
from schemas.parsing.decode import decode
from schemas.parsing.rules import (
    check_embed_request,
    check_embed_v1_request,
    check_embedding_request,
    check_image_embeds_request,
    check_stream_line,
    check_tokenize_request,
)
from schemas.parsing.score_rules import check_any_rerank_request, check_rerank_request, check_score_request
from tests.scoreboard.json_seeds import TYPES, WORDS, seeds
from tests.scoreboard.leaks import leak_in
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.side_by_side import CHUNK, Found, side_by_side
from tests.scoreboard.mutant import mutate

MAX_MESSAGE_CHARS = 700


def _embedding(body: Any) -> None:
    check_embedding_request(body, accepts_token_arrays=True)


def _nothing(body: Any) -> None:
    """Of requests without rules between their fields."""


RULES: tuple[Callable[[Any], None], ...] = (
    _embedding, check_embed_request, check_image_embeds_request, check_embed_v1_request, check_tokenize_request,
    check_stream_line, _nothing, check_rerank_request, check_rerank_request, check_any_rerank_request,
    check_score_request, _nothing,
)  # fmt: skip


@line(6, "JSON mutants at the decoder", "a request or a refusal of ours", sizes=(500_000, 5_000_000))
def run(size: int, folder: Path) -> Result:
    return side_by_side(size, _chunk)


def _chunk(start: int, stop: int) -> Found:
    dice, originals, found = random.Random(f"json {start // CHUNK}"), [raw for _, raw in seeds()], Found()
    for number in range(start, stop):
        which = dice.randrange(len(TYPES))
        raw = mutate(dice, dice.choice(originals), WORDS)
        with found.timed(f"case {number}"):
            wrong, accepted = _try(raw, TYPES[which], RULES[which], ignore_unknown=dice.random() < 0.3)
        found.num_accepted += accepted
        if wrong:
            found.failures.append(f"{wrong}: {raw[:120]!r}")
    return found


def _try(raw: bytes, type_: type[Wire], check: Callable[[Any], None], *, ignore_unknown: bool) -> tuple[str, bool]:
    """The fault, and True if it was a request."""
    message = ""
    try:
        check(decode(raw, type_, ignore_unknown=ignore_unknown))
    except RuleError as error:
        message = error.message
    except Exception as error:  # noqa: BLE001  # what else there may be is what is asked
        return type(error).__name__, False
    said = message.encode(errors="surrogatepass")
    leak = "" if leak_in(raw) else leak_in(said)  # the short name of an unknown field may be repeated
    if leak or len(message) > MAX_MESSAGE_CHARS or "\ud800" in message:
        return f"said {leak or message[:80]!r}", False
    return "", not message
