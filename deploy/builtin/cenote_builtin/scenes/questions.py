"""Questions to the small reranker: an instruction, a query about a scene, and if another scene answers it.

A query that says one aspect asks for scenes that mean the same under it. A query that names objects by two or three
properties each asks for scenes that contain them. A description with all four properties of every object says
everything, so that a scene with one object more is no answer, unless the instruction asks for what contains it.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from cenote_builtin.scenes.batches import instruction_for
from cenote_builtin.scenes.captions import (
    CELL_WORDS,
    COLOR_WORDS,
    SHAPE_WORDS,
    SIZE_WORDS,
    caption,
    joined,
    pick,
)
from cenote_builtin.scenes.scenes import ASPECTS, NUM_CELLS, Aspect, Scene, SceneObject, meaning

Property: TypeAlias = Literal["large", "color", "shape", "cell"]
PROPERTIES: Final[tuple[Property, ...]] = get_args(Property)

JUDGE_BY: Final[dict[Aspect, tuple[str, ...]]] = {
    "whole": ("Retrieve pictures of exactly this scene.", "Does the picture show exactly this?"),
    "colors": ("Retrieve pictures with the same colors.", "Judge the colors alone."),
    "shapes": ("Retrieve pictures with the same shapes.", "Judge the shapes alone."),
    "count": ("Retrieve pictures with the same number of objects.", "Judge the number of objects alone."),
    "positions": ("Retrieve pictures with objects at the same positions.", "Judge the positions of the objects alone."),
}
"""Instructions to a reranker; it also knows the embedder's, so that both stages can have the same one."""
CONTAIN: Final = ("Retrieve pictures that contain this.", "Does the picture contain this?")
"""Instructions under which further objects do no harm."""

_CONTAINS: Final = ("{0}", "{0}", "a picture with {0}", "an image with {0}", "there is {0}", "it shows {0}", "find {0}")
_NOUNS: Final = ("object", "thing", "shape", "item")
_PLACES: Final = ("at the", "in the", "on the")


@dataclass(frozen=True, slots=True)
class Mention:
    """An object of a scene, and the properties by which it is named."""

    thing: SceneObject
    named: frozenset[Property]

    def fits(self, other: SceneObject) -> bool:
        """True where another object has the same named properties."""
        return all(getattr(self.thing, name) == getattr(other, name) for name in self.named)


@dataclass(frozen=True, slots=True)
class Question:
    """One query, as far as it does not depend on the document.

    Attributes:
        instruction: None for the reranker's default.
        text: the query; None where it is a picture of `scene`.
        scene: what the query was made from; it answers it.
        aspect: by which a document is judged; None where it has to contain `mentions`.
        mentions: objects that the query names.
    """

    instruction: str | None
    text: str | None
    scene: Scene
    aspect: Aspect | None
    mentions: tuple[Mention, ...] = ()

    def holds(self, scene: Scene) -> bool:
        """True if a picture of the scene, or a caption that says enough of it, is an answer."""
        if self.aspect is not None:
            return meaning(scene, self.aspect) == meaning(self.scene, self.aspect)
        choices = permutations(scene.objects, len(self.mentions))
        return any(all(map(Mention.fits, self.mentions, chosen)) for chosen in choices)

    def agreements(self, scene: Scene) -> NDArray[np.float32]:
        """By cell, whether a scene agrees with the query there, `[9]`: what a judge has to see before it can judge.

        Of everything, and of positions, cells are right or wrong; of sets and of named objects, objects belong or not.
        """
        own = {thing.cell: thing for thing in self.scene.objects}
        other = {thing.cell: thing for thing in scene.objects}
        cells = range(NUM_CELLS)
        match self.aspect:
            case "whole":
                agreed = [own.get(cell) == other.get(cell) for cell in cells]
            case "positions":
                agreed = [(cell in own) == (cell in other) for cell in cells]
            case "count":
                agreed = [cell in other for cell in cells]
            case "colors":
                agreed = [
                    cell in other and other[cell].color in {thing.color for thing in own.values()} for cell in cells
                ]
            case "shapes":
                agreed = [
                    cell in other and other[cell].shape in {thing.shape for thing in own.values()} for cell in cells
                ]
            case None:
                agreed = [cell in other and any(one.fits(other[cell]) for one in self.mentions) for cell in cells]
        return np.array(agreed, np.float32)


def _named(rng: np.random.Generator, mention: Mention) -> str:
    thing, named = mention.thing, mention.named
    words = [pick(rng, ("a", "one", "", "the"))]
    words += [pick(rng, SIZE_WORDS[thing.large])] if "large" in named else []
    words += [pick(rng, COLOR_WORDS[thing.color])] if "color" in named else []
    words += [pick(rng, SHAPE_WORDS[thing.shape] if "shape" in named else _NOUNS)]
    words += [f"{pick(rng, _PLACES)} {pick(rng, CELL_WORDS[thing.cell])}"] if "cell" in named else []
    return " ".join(filter(None, words))


def described(mentions: tuple[Mention, ...], rng: np.random.Generator) -> str:
    """One wording, drawn at random, of objects by the properties that are named."""
    return pick(rng, _CONTAINS).format(joined(rng, [_named(rng, mention) for mention in mentions]))


def _some(scene: Scene, rng: np.random.Generator, fewest: int, most: int) -> tuple[Mention, ...]:
    """One object or two, each by `fewest` to `most` properties, among them color or shape."""
    num = min(len(scene.objects), 1 + int(rng.random() < 0.4))
    mentions = []
    for index in rng.choice(len(scene.objects), num, replace=False):
        named: frozenset[Property] = frozenset()
        while named.isdisjoint(("color", "shape")):
            chosen = rng.permutation(len(PROPERTIES))[: int(rng.integers(fewest, most + 1))]
            named = frozenset(PROPERTIES[int(place)] for place in chosen)
        mentions.append(Mention(scene.objects[int(index)], named))
    return tuple(mentions)


def ask_contained(scene: Scene, rng: np.random.Generator, *, told: bool) -> Question:
    """A question about some objects; all four properties are named only where the instruction says what it asks."""
    mentions = _some(scene, rng, 2, 4 if told else 3)
    instruction = pick(rng, CONTAIN) if told else None
    return Question(instruction, described(mentions, rng), scene, None, mentions)


def judge_by(aspect: Aspect, rng: np.random.Generator) -> str:
    """An instruction to judge by one aspect: the reranker's, or one of the embedder's."""
    return pick(rng, JUDGE_BY[aspect]) if rng.random() < 0.5 else instruction_for(aspect, rng)


def ask(scene: Scene, rng: np.random.Generator, *, simple: bool = False) -> Question:
    """A question that the scene answers: 35 % about everything, 14 % about some objects, 35 % by a picture.

    A simple one is about everything, or about some objects.
    """
    chance = rng.random() * (0.49 if simple else 1.0)
    if chance < 0.35:
        default = rng.random() < 0.8
        return Question(None if default else judge_by("whole", rng), caption(scene, "whole", rng), scene, "whole")
    if chance < 0.49:
        return ask_contained(scene, rng, told=rng.random() >= 0.75)
    aspect = ASPECTS[int(rng.integers(len(ASPECTS)))]
    if chance < 0.84:
        default = aspect == "whole" and rng.random() < 0.5
        return Question(None if default else judge_by(aspect, rng), None, scene, aspect)
    words: Aspect = aspect if rng.random() < 0.9 else "whole"
    default = words == aspect and rng.random() < 0.6
    return Question(None if default else judge_by(aspect, rng), caption(scene, words, rng), scene, aspect)


def tell(question: Question, scene: Scene, rng: np.random.Generator) -> str:
    """A caption of a scene that says enough of it to answer the question."""
    if question.aspect is not None:
        return caption(scene, question.aspect if rng.random() < 0.5 else "whole", rng)
    if rng.random() < 0.4:
        return caption(scene, "whole", rng)
    asked = frozenset[Property]().union(*(mention.named for mention in question.mentions))
    more: frozenset[Property] = frozenset(name for name in PROPERTIES if rng.random() < 0.3)
    return described(tuple(Mention(thing, asked | more) for thing in scene.objects), rng)
