"""Questions of the built-in reranker: what a query asks for, and which scenes answer it."""

from dataclasses import replace

import numpy as np
import pytest

from cenote_builtin.scenes.captions import CELL_WORDS, COLOR_WORDS, SHAPE_WORDS
from cenote_builtin.scenes.questions import Mention, Property, Question, ask, ask_contained, described, tell
from cenote_builtin.scenes.scenes import Aspect, Scene, SceneObject, sample_scene
from cenote_builtin.scenes.variants import KINDS, variants

RED_CIRCLE = SceneObject(cell=0, shape="circle", color="red", large=True)
BLUE_SQUARE = SceneObject(cell=8, shape="square", color="blue", large=False)
PAIR = Scene((RED_CIRCLE, BLUE_SQUARE))
SWAPPED = Scene((replace(RED_CIRCLE, color="blue"), replace(BLUE_SQUARE, color="red")))


def named(*properties: Property) -> frozenset[Property]:
    return frozenset(properties)


def contains(*mentions: Mention) -> Question:
    return Question(None, "", PAIR, None, mentions)


def test_a_scene_answers_its_own_questions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        scene = sample_scene(rng, held_out=False)
        question = ask(scene, rng)
        assert question.holds(scene)
        assert question.text is None or question.text.strip()


def test_a_color_counts_with_its_shape_alone() -> None:
    question = contains(Mention(RED_CIRCLE, named("color", "shape")))
    assert question.holds(PAIR)
    assert question.holds(Scene((RED_CIRCLE,)))
    assert not question.holds(SWAPPED)
    assert not question.holds(Scene((BLUE_SQUARE,)))


def test_two_mentions_need_two_objects() -> None:
    thing = Mention(RED_CIRCLE, named("color", "shape"))
    twice = Scene((RED_CIRCLE, replace(RED_CIRCLE, cell=3)))
    assert not contains(thing, thing).holds(PAIR)
    assert contains(thing, thing).holds(twice)


@pytest.mark.parametrize("aspect", ["colors", "count"])
def test_under_an_aspect_nothing_else_matters(aspect: str) -> None:
    question = Question(None, "", PAIR, aspect)  # type: ignore[arg-type]
    assert question.holds(SWAPPED)
    assert not question.holds(Scene((RED_CIRCLE,)))


def test_cells_agree_where_the_query_and_the_scene_do() -> None:
    def disagree(aspect: Aspect | None, scene: Scene, *mentions: Mention) -> list[int]:
        return np.flatnonzero(Question(None, "", PAIR, aspect, mentions).agreements(scene) == 0).tolist()

    others = list(range(1, 8))
    assert disagree("whole", PAIR) == []
    assert disagree("whole", SWAPPED) == [0, 8]
    assert disagree("positions", SWAPPED) == []
    assert disagree("positions", Scene((RED_CIRCLE,))) == [8]
    assert disagree("colors", SWAPPED) == disagree("count", SWAPPED) == others
    assert disagree("colors", Scene((replace(RED_CIRCLE, color="green"),))) == [*range(9)]
    assert disagree(None, SWAPPED, Mention(RED_CIRCLE, named("color", "shape"))) == [*range(9)]
    assert disagree(None, PAIR, Mention(RED_CIRCLE, named("color", "shape"))) == [*range(1, 9)]


def test_a_mention_says_what_is_named_and_nothing_else() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        text = described((Mention(RED_CIRCLE, named("color", "cell")),), rng)
        assert any(word in text for word in COLOR_WORDS["red"])
        assert any(word in text for word in CELL_WORDS[0])
        assert not any(word in text.split() for word in (*SHAPE_WORDS["circle"], "large", "big"))


def test_without_an_instruction_no_object_is_described_whole() -> None:
    """Four properties mean that the scene has nothing else."""
    rng = np.random.default_rng(8)
    for _ in range(100):
        question = ask_contained(sample_scene(rng, held_out=False), rng, told=False)
        assert all(2 <= len(mention.named) <= 3 for mention in question.mentions)


def test_a_caption_says_enough_to_judge_by_it() -> None:
    """Two scenes with the same caption are both answers or both none."""
    rng, num_same = np.random.default_rng(9), 0
    for _ in range(300):
        scene = sample_scene(rng, held_out=False, max_objects=2)
        other = next(other for kind in rng.permutation(KINDS) for other in variants(scene, kind, rng, held_out=False))
        question = ask(scene, rng)
        captions = [tell(question, one, np.random.default_rng(1)) for one in (scene, other)]
        if captions[0] == captions[1]:
            num_same += 1
            assert question.holds(other)
    assert num_same > 5
