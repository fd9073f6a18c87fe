"""Ids that a client made stand as they are, and what they cannot be is refused with its place."""

import pytest

from service.errors import InputError
from service.outputs.plan import TokenPlan
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Prompt
from service.prompt.token_array import TokenArray, build_token_array
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation

WHOLE = Truncation(8192)


@pytest.fixture
def build(profile: Profile, tokenizer: PromptTokenizer):
    def build(token_ids: list[int], truncation: Truncation = WHOLE) -> Prompt:
        array = TokenArray(token_ids)
        return build_token_array(array, truncation, profile, tokenizer.num_ids, param="input[2]", index=2)

    return build


def test_ids_are_the_whole_prompt(build) -> None:
    assert build([5, 8135 - 7, 0]) == Prompt(TokenPlan([5, 8128, 0]), (), truncated=False)


@pytest.mark.parametrize(("side", "kept"), [("right", [1, 2, 3]), ("left", [3, 4, 5])])
def test_they_are_cut_plainly(build, side, kept: list[int]) -> None:
    assert build([1, 2, 3, 4, 5], Truncation(3, side)) == Prompt(TokenPlan(kept), (), truncated=True)
    assert not build([1, 2, 3], Truncation(3, side)).truncated


def test_too_many_are_refused_unless_cutting_was_asked_for(build) -> None:
    with pytest.raises(InputError, match="maximum context length is 8192 tokens") as caught:
        build([1] * 8193)
    assert (caught.value.code, caught.value.param, caught.value.index) == ("context_length_exceeded", "input[2]", 2)
    assert len(build([1] * 8192).plan.ids) == 8192


@pytest.mark.parametrize(
    ("token_id", "words"),
    [
        (-1, "expected a token id from 0 to 8135, got the token id -1"),
        (8136, "expected a token id from 0 to 8135, got the token id 8136"),
        (10**30, "got a number that is far from it"),
        (-(10**4000), "got a number that is far from it"),
    ],
)
def test_an_id_outside_the_vocabulary_is_refused_with_its_place(build, token_id: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        build([1, 2, token_id])
    assert words in caught.value.message
    assert len(caught.value.message) < 200
    assert (caught.value.code, caught.value.param, caught.value.index) == ("invalid_request", "input[2][2]", 2)


@pytest.mark.parametrize("name", ["image_pad", "video_pad"])
def test_an_id_that_stands_for_media_is_refused(build, profile: Profile, name: str) -> None:
    with pytest.raises(InputError, match="which stands for media"):
        build([1, getattr(profile.images, name)])
