"""Queries that come one after the other after the same instruction: what the prefix cache saves of each."""

from collections.abc import Iterator

from tests.bench.figure import Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, instructed_text_body

QUERY_TOKENS = 8
INSTRUCTION_TOKENS = (None, 200)
"""The default instruction, and a long one."""
NUM_QUERIES = 8
"""Of a round, one after the other."""
NUM_WARM = 3


def run(stage: Stage) -> Measured:
    """Speed with what is kept, over that of a server that keeps nothing."""
    return Measured(list(_figures(stage)))


def _figures(stage: Stage) -> Iterator[Figure]:
    sides = {"kept": stage.service, "whole": stage.serve("without_prefixes", "--prefix-cache-bytes", "0")}
    for num_tokens in INSTRUCTION_TOKENS:
        instruction = None if num_tokens is None else stage.texts.text(num_tokens)
        works: dict[int, Work] = {}

        def of_round(turn: int, instruction: str | None = instruction, works: dict[int, Work] = works) -> Work:
            if turn not in works:  # both sides of a round get the same queries
                texts = stage.texts.texts(NUM_QUERIES, QUERY_TOKENS)
                works[turn] = Work([instructed_text_body(text, instruction) for text in texts])
            return works[turn]

        cases = [Case(name, side, of_round, is_fresh=True) for name, side in sides.items()]
        spent = interleave(cases, stage.scale.num_rounds, NUM_WARM)
        kept, whole = (spread(spent[name]).median / NUM_QUERIES * 1e3 for name in sides)
        what = "the default instruction" if num_tokens is None else f"an instruction of {num_tokens} tokens"
        words = f"speed of a lone short query behind {what}, over that without the prefix cache"
        name = "prefix_default" if num_tokens is None else "prefix_long"
        notes = [f"{kept:.1f} and {whole:.1f} ms a query"]
        yield Figure(name, words, ratio(spent["whole"], spent["kept"]), "×", None, stage.scale.num_rounds, notes, spent)


PART = Part("prefixes", "queries after one instruction", run)
