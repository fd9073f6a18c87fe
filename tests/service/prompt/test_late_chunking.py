"""Windows over the chunks of one text: which chunks go together, what stands around them, and what is refused."""

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from service.errors import InputError
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.late_chunking import CONTEXT_TOKENS, Window, plan_windows
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation
from tests.models.text.checkpoints import RECIPES, make_checkpoint
from tests.models.text.texts import SENTENCES, TEXTS

MEAN = sorted(name for name, recipe in RECIPES.items() if recipe.pooling == "mean")
WORDS = ("A natural pool", " in the limestone.", " The quick brown fox", " jumps over", " the lazy dog.")


class Family:
    """The front's half of a family's checkpoint."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = make_checkpoint(name, folder)
        self.profile = load_profile(self.folder)
        self.tokenizer = PromptTokenizer(self.folder, lower_case=self.profile.lower_case)
        self.builder = PromptBuilder(self.profile, self.tokenizer)

    def windows(
        self,
        chunks: Sequence[str],
        limit: int = 512,
        side: Side | None = None,
        *,
        instruction: str | None = None,
        builder: PromptBuilder | None = None,
    ) -> list[Prompt]:
        truncation = Truncation(limit, side)
        params = [f"input[{i}]" for i in range(len(chunks))]
        made = (builder or self.builder).late_chunks(Conversation(instruction, ()), truncation, params)
        for chunk in chunks:
            made.add([chunk])
        return made.prompts()

    def whole(self, text: str, limit: int = 512, side: Side | None = None, instruction: str | None = None) -> Prompt:
        truncation = Truncation(limit, side)
        return self.builder.build(Conversation(instruction, (Turn("user", (text,)),)), truncation)


@pytest.fixture(scope="module", params=MEAN)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family(request.param, tmp_path_factory.mktemp(request.param) / "checkpoint")


@pytest.fixture(scope="module")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family("xlm_roberta", tmp_path_factory.mktemp("late") / "checkpoint")


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family("distilbert", tmp_path_factory.mktemp("late") / "checkpoint")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family("roberta", tmp_path_factory.mktemp("late") / "checkpoint")


def test_windows_take_as_many_chunks_as_fit_behind_the_last_tokens_before_them() -> None:
    assert plan_windows([3, 4, 3], 10) == [Window(0, 3, 0)]
    assert plan_windows([3, 4, 4], 10) == [Window(0, 2, 0), Window(2, 3, 5)]
    assert plan_windows([9, 2, 2, 2], 10) == [Window(0, 1, 0), Window(1, 3, 5), Window(3, 4, 5)]
    assert plan_windows([2, 10, 8], 10) == [Window(0, 1, 0), Window(1, 2, 0), Window(2, 3, 2)]
    assert plan_windows([600, 300, 50], 1000) == [Window(0, 3, 0)]
    assert plan_windows([600, 500, 50], 1000) == [Window(0, 1, 0), Window(1, 3, CONTEXT_TOKENS)]


def test_each_chunk_is_in_one_window_and_no_window_is_too_long() -> None:
    source = random.Random(3)
    for _ in range(500):
        room = source.randint(1, 700)
        lengths = [source.randint(1, room) for _ in range(source.randint(1, 30))]
        windows = plan_windows(lengths, room)
        assert sum(one.num_context for one in windows) <= 2 * sum(lengths) + room // 2, "two windows fill half a window"
        assert [i for one in windows for i in range(one.first, one.stop)] == list(range(len(lengths)))
        for before, one in zip([None, *windows], windows, strict=False):
            num_tokens = one.num_context + sum(lengths[one.first : one.stop])
            assert num_tokens <= room
            assert 0 <= one.num_context <= min(CONTEXT_TOKENS, room // 2, sum(lengths[: one.first]))
            assert before is None or before.stop == one.first
            if one.stop < len(lengths):
                assert num_tokens + lengths[one.stop] > room, "and another chunk would not have fitted"


def test_a_lone_chunk_is_the_ordinary_prompt(family: Family) -> None:
    texts = ["", "  ", *TEXTS]
    if not family.tokenizer.encode_rendered(""):  # of a tokenizer that adds nothing
        with pytest.raises(InputError, match="no tokens"):
            family.windows([texts.pop(0)])
    asked: list[tuple[int, Side | None]] = [(512, None), (14, "left"), (14, "right")]
    for text, (limit, side) in product(texts, asked):
        (window,) = family.windows([text], limit, side)
        whole = family.whole(text, limit, side)
        assert (window.plan.ids, window.truncated, window.plan.spans) == (whole.plan.ids, whole.truncated, ()), text


def test_prompts_of_the_checkpoint_stand_once_in_front(family: Family) -> None:
    for instruction in family.profile.input_types.values():
        (lone,) = family.windows(["a lone chunk"], instruction=instruction)
        assert lone.plan.ids == family.whole("a lone chunk", instruction=instruction).plan.ids
        (window,) = family.windows(WORDS, instruction=instruction)
        assert window.plan.ids == family.whole("".join(WORDS), instruction=instruction).plan.ids


def test_slices_at_word_borders_give_the_tokens_of_the_whole_text(family: Family) -> None:
    """With their blanks in front, as the words of a text have them: WordPiece, Unigram and byte-pair tokens alike."""
    for text in (*SENTENCES[:5], " ".join(SENTENCES[:5])):
        places = [i for i, character in enumerate(text) if character == " " and text[i - 1] != " "]
        chunks = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
        (window,) = family.windows(chunks)
        assert window.plan.ids == family.whole(text).plan.ids
        assert len(window.chunks) == len(chunks)


def test_spans_cover_all_tokens_of_a_lone_window_and_none_twice(family: Family) -> None:
    (window,) = family.windows(WORDS)
    places = [place for first, stop in window.plan.spans for place in range(first, stop)]
    assert places == list(range(len(window.plan.ids)))
    alone = [len(family.tokenizer.encode(chunk).ids) for chunk in WORDS]
    assert [len(chunk.plan.ids) for chunk in window.chunks[1:]] == alone[1:]


@pytest.mark.parametrize("name", ["xlm_roberta", "roberta"])
def test_a_later_window_repeats_the_prefix_and_the_last_tokens_before_it(
    request: pytest.FixtureRequest, name: str
) -> None:
    family: Family = request.getfixturevalue(name)
    chunks = [SENTENCES[0], *(f" {sentence}" for sentence in SENTENCES[1:5])]
    prefix, limit = "passage: ", 70
    windows = family.windows(chunks, limit, instruction=prefix)
    assert len(windows) > 2
    (whole,) = family.windows(chunks, instruction=prefix)
    tail = list(family.tokenizer.tail_token_ids)
    around = whole.plan.ids[: -len(tail) - sum(len(chunk.plan.ids) for chunk in whole.chunks)]
    assert around == family.whole("", instruction=prefix).plan.ids[: len(around)]
    text = whole.plan.ids[len(around) : -len(tail)]
    room = limit - len(around) - len(tail)
    begun = 0
    for number, window in enumerate(windows):
        assert len(window.plan.ids) <= limit
        assert window.plan.ids[: len(around)] == around
        assert window.plan.ids[-len(tail) :] == tail
        own = sum(len(chunk.plan.ids) for chunk in window.chunks)
        num_context = len(window.plan.ids) - len(around) - len(tail) - own
        assert num_context == min(CONTEXT_TOKENS, room // 2, room - len(window.chunks[0].plan.ids), begun)
        assert window.plan.ids[len(around) : -len(tail)] == text[begun - num_context : begun + own]
        first = 0 if number == 0 else len(around) + num_context
        last = len(window.plan.ids) if number == len(windows) - 1 else len(window.plan.ids) - len(tail)
        assert (window.plan.spans[0][0], window.plan.spans[-1][1]) == (first, last)
        begun += own
    assert begun == len(text)


def test_a_prefix_whose_last_blank_is_the_first_words_is_read_with_that_word(roberta: Family) -> None:
    around = [*roberta.tokenizer.head_token_ids, *roberta.tokenizer.encode("query:").ids]
    (window,) = roberta.windows(["the quick", " fox"], instruction="query: ")
    assert window.plan.ids[len(around) :][:1] == roberta.tokenizer.encode(" the").ids[:1]
    assert len(window.chunks[0].plan.ids) == len(roberta.tokenizer.encode(" the quick").ids)


@pytest.mark.parametrize("chunks", [["", "b"], ["a", ""], ["a", "", "b"], ["a", " \n", "b"]])
def test_a_chunk_without_tokens_is_refused_by_its_place(distilbert: Family, chunks: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        distilbert.windows(chunks)
    place = next(i for i, chunk in enumerate(chunks) if not chunk.strip())
    assert (caught.value.code, caught.value.param, caught.value.index) == ("empty_input", f"input[{place}]", place)
    assert "has no tokens" in caught.value.message


def test_a_chunk_that_is_longer_than_a_window_is_refused_by_its_place_or_cut(xlm_roberta: Family) -> None:
    chunks = ["short", " and a chunk that is longer than sixteen tokens of this tokenizer by far", " short"]
    with pytest.raises(InputError) as caught:
        xlm_roberta.windows(chunks, 16)
    assert (caught.value.code, caught.value.index) == ("context_length_exceeded", 1)
    assert caught.value.param == "input[1]"
    whole = xlm_roberta.tokenizer.encode(chunks[1]).ids
    cut: list[tuple[Side, list[int]]] = [("right", whole[:14]), ("left", whole[-14:])]
    for side, kept in cut:
        windows = xlm_roberta.windows(chunks, 16, side)
        long = next(one for one in windows if one.truncated)
        assert long.plan.ids[1:-1] == kept
        assert [chunk.truncated for one in windows for chunk in one.chunks] == [False, True, False]


@pytest.mark.parametrize("size", [100_000, 10_000_000])
def test_a_huge_chunk_is_refused_without_being_tokenized(xlm_roberta: Family, size: int) -> None:
    with pytest.raises(InputError) as caught:
        xlm_roberta.windows(["a", "word " * (size // 5)])
    assert (caught.value.code, caught.value.index) == ("context_length_exceeded", 1)


@pytest.mark.parametrize("side", [None, "right", "left"])
def test_a_prefix_that_fills_the_window_is_refused(xlm_roberta: Family, side: Side | None) -> None:
    with pytest.raises(InputError) as caught:
        xlm_roberta.windows(["a", " b"], 16, side, instruction="a long instruction that fills the window: ")
    assert (caught.value.code, caught.value.index) == ("context_length_exceeded", 0)


def test_special_tokens_of_a_client_are_characters_unless_the_reference_is_followed(xlm_roberta: Family) -> None:
    strict = PromptBuilder(xlm_roberta.profile, xlm_roberta.tokenizer, strict_reference=True)
    plain, parsed = (xlm_roberta.windows(["a", " </s> b"], builder=one)[0] for one in (xlm_roberta.builder, strict))
    (end,) = xlm_roberta.tokenizer.tail_token_ids
    assert (plain.plan.ids.count(end), parsed.plan.ids.count(end)) == (1, 2)


def test_a_long_instruction_is_a_prefix_too(xlm_roberta: Family) -> None:
    instruction = "word " * 60
    (window,) = xlm_roberta.windows(["a", " b"], instruction=instruction)
    assert window.plan.ids == xlm_roberta.whole("a b", instruction=instruction).plan.ids


def test_only_means_have_late_chunking(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("profiles")
    found = {name: load_profile(make_checkpoint(name, folder / name)).offers_late_chunking for name in sorted(RECIPES)}
    assert {name for name, offers in found.items() if offers} == set(MEAN)
