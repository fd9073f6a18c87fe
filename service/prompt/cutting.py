"""Chooses the tokens that are cut from a prompt that is too long.

In: its ids, and the runs of ids that are texts of the client. Out: places of ids, ascending; fewer than asked for where
no more may go; or an `InputError` without its field, where a model's prompts are not cut at that side. Knows no
tokenizer and no template.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from service.errors import InputError
from service.prompt.truncation import Side

Cutting = Callable[[Sequence[int], Sequence[range], int, Side], Sequence[int]]
"""Ids of a prompt, its texts' runs, how many have to go and from which side; to the places of those that go."""

NO_LEFT = "Pairs of this model are cut at the right only, where the document ends; the query stands on the left."


def cut_text(token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
    """Of the texts, as if they were one: the end, or the beginning."""
    places = [*chain.from_iterable(texts)]
    num = min(num_excess, len(places))
    return places[len(places) - num :] if side == "right" else places[:num]


def cut_longest(token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
    """Of two texts: the longer one gives way, then both come to a half, an odd token to the longer.

    Source: tokenizers 0.22 `truncate_encodings`, `LongestFirst`.
    """
    first, second = texts
    room = len(first) + len(second) - num_excess
    if room < 0:
        return ()
    short = min(len(first), len(second), room // 2)
    kept = (room - short, short) if len(first) > len(second) else (short, room - short)
    return [
        place
        for text, num_kept in zip(texts, kept, strict=True)
        for place in cut_text(token_ids, [text], len(text) - num_kept, side)
    ]


def cut_second(token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
    """Of two texts the second, so that a query stays whole.

    Source: the model card of bge-reranker-v2-gemma, `only_second`.
    """
    return cut_text(token_ids, texts[1:], num_excess, side)


def cut_pair(token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
    """Of query and document in one text: the end.

    Source: Qwen3-Reranker's model card, `process_inputs`.
    """
    if side == "left":
        raise InputError("invalid_request", NO_LEFT)
    return cut_text(token_ids, texts, num_excess, side)


def cut_end(token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
    """Of all that reaches from the first text to the end of the last, the end; what follows it stays.

    Source: sentence-transformers 6.2 `Transformer._restore_chat_template_suffix`.
    """
    if side == "left":
        raise InputError("invalid_request", NO_LEFT)
    return range(texts[0].start, texts[-1].stop)[-num_excess:] if texts else ()


@dataclass(frozen=True, slots=True)
class CutTail:
    """From the first text on everything may go but special tokens and the last ones, from the end.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `Qwen3VLReranker.truncate_tokens_optimized`.
    """

    specials: frozenset[int]
    """Ids that stay."""
    num_last: int
    """Ids at the end that stay."""

    def __call__(self, token_ids: Sequence[int], texts: Sequence[range], num_excess: int, side: Side) -> Sequence[int]:
        """The last `num_excess` that are no special tokens."""
        if side == "left":
            raise InputError("invalid_request", NO_LEFT)
        places = range(texts[0].start, len(token_ids) - self.num_last)
        return [place for place in places if token_ids[place] not in self.specials][-num_excess:]
