"""Training batches: images, queries about them under several instructions, and captions that answer each query.

A seed and a step give a `Batch` of numpy arrays, without torch. Only scenes of the training split are used.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.instructions import render
from cenote_builtin.scenes.scenes import (
    ASPECTS,
    COLORS,
    MAX_OBJECTS,
    NUM_CELLS,
    SHAPES,
    Aspect,
    Scene,
    draw,
    meaning,
    sample_scene,
)
from cenote_builtin.tokenizer import END, special_ids

TOKEN_PIXELS: Final = 32
"""Side of the square of pixels that one visual token covers."""

_SIZES: Final = ((96, 32, 0.25), (128, 32, 0.75))
"""Side in pixels, scenes per batch, share of batches. Larger images are shrunk to `MAX_PIXELS` before the model."""
_PARAPHRASED: Final = 0.6
_TEXT_QUERY: Final = 0.1
_TEXT_BUCKETS: Final = 3
_USER_TURN_TOKENS: Final = 3
PADDING: Final = -1
"""Fills up the shorter system turns."""

_COLORS: Final = {color: index for index, color in enumerate(COLORS)}
_SHAPES: Final = {shape: index for index, shape in enumerate(SHAPES)}
_NUM_SIZES: Final = 2

NUM_CELL_ATTRIBUTES: Final = len(COLORS) + len(SHAPES) + _NUM_SIZES
"""Attributes of one cell: color, shape, size; all zero where it is empty."""

_BLOCKS: Final[dict[Aspect, int]] = {
    "whole": NUM_CELLS * NUM_CELL_ATTRIBUTES,
    "colors": len(COLORS),
    "shapes": len(SHAPES),
    "count": MAX_OBJECTS,
    "positions": NUM_CELLS,
}
NUM_ATTRIBUTES: Final = sum(_BLOCKS.values())
"""Length of a row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Prompts of about the same length without their system turn, padded on the right."""

    ids: NDArray[np.int64]
    """`[rows, tokens]`."""
    lengths: NDArray[np.int64]
    """`[rows]` tokens without padding; the last of them is pooled."""
    heads: NDArray[np.int64]
    """`[rows]` index of the system turn that stands before it."""
    images: NDArray[np.int64]
    """`[rows]` index of the image in the batch, or -1."""
    order: NDArray[np.int64]
    """`[rows]` where each row stands among all rows of the batch: queries first, then captions."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's worth of data: n queries and the n captions that match them, as 2n prompts."""

    pixels: NDArray[np.uint8]
    """`[images, side, side, 3]`."""
    heads: NDArray[np.int64]
    """`[heads, tokens]` distinct system turns, up to the user's content, padded on the right with -1."""
    rows: tuple[Rows, ...]
    cells: NDArray[np.float32]
    """`[images, 9, attributes]` what stands in each cell of each image."""
    meanings: NDArray[np.int64]
    """`[n]` equal where aspect and meaning are equal."""
    attributes: NDArray[np.float32]
    """`[n, attributes]` zeros and ones."""
    asked: NDArray[np.bool_]
    """`[n, attributes]` which of them the row's aspect asks about."""


def cell_attributes(scene: Scene) -> NDArray[np.float32]:
    """Color, shape and size of each cell: zeros and ones, `[9, NUM_CELL_ATTRIBUTES]`."""
    table = np.zeros((NUM_CELLS, NUM_CELL_ATTRIBUTES), np.float32)
    for thing in scene.objects:
        table[thing.cell, _COLORS[thing.color]] = 1
        table[thing.cell, len(COLORS) + _SHAPES[thing.shape]] = 1
        table[thing.cell, len(COLORS) + len(SHAPES) + int(thing.large)] = 1
    return table


def _any_of(indices: set[int], length: int) -> NDArray[np.float32]:
    row = np.zeros(length, np.float32)
    row[list(indices)] = 1
    return row


def attributes(scene: Scene, aspect: Aspect) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """A scene's meaning under an aspect: zeros and ones `[NUM_ATTRIBUTES]`, and which of them the aspect asks about.

    `whole` asks about every object's properties in its cell, the others about a set or a number.
    """
    blocks: dict[Aspect, NDArray[np.float32]] = {
        "whole": cell_attributes(scene).ravel(),
        "colors": _any_of({_COLORS[thing.color] for thing in scene.objects}, len(COLORS)),
        "shapes": _any_of({_SHAPES[thing.shape] for thing in scene.objects}, len(SHAPES)),
        "count": _any_of({len(scene.objects) - 1}, MAX_OBJECTS),
        "positions": _any_of({thing.cell for thing in scene.objects}, NUM_CELLS),
    }
    asked = [np.full(length, name == aspect) for name, length in _BLOCKS.items()]
    return np.concatenate([blocks[name] for name in _BLOCKS]), np.concatenate(asked)


def instruction_for(aspect: Aspect, rng: np.random.Generator) -> str:
    """The canonical instruction, or at random one of its paraphrases."""
    if rng.random() >= _PARAPHRASED:
        return instructions.CANONICAL[aspect]
    wordings = instructions.PARAPHRASES[aspect]
    return wordings[int(rng.integers(len(wordings)))]


def _caption_instruction(aspect: Aspect, rng: np.random.Generator) -> str:
    """Mostly the default; sometimes the query's, or the aspect's own, as a client may send one for both sides."""
    chance = rng.random()
    if chance < 0.7:
        return instructions.DEFAULT
    return instructions.QUERY if chance < 0.85 else instruction_for(aspect, rng)


def _query(scene: Scene, aspect: Aspect, num_tokens: int, rng: np.random.Generator) -> str:
    instruction = instruction_for(aspect, rng)
    if rng.random() < _TEXT_QUERY:
        return render(instruction, caption(scene, "whole", rng))
    return render(instruction, num_image_tokens=num_tokens)


def _padded(ids: Sequence[Sequence[int]], pad: int) -> NDArray[np.int64]:
    padded = np.full((len(ids), max(len(row) for row in ids)), pad)
    for row, tokens in zip(padded, ids, strict=True):
        row[: len(tokens)] = tokens
    return padded


def _split_heads(tokenizer: Tokenizer, prompts: Sequence[str]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Token ids of each prompt, split where the user's content begins: after `<|im_start|>user` and its newline."""
    start = special_ids(tokenizer)["<|im_start|>"]
    heads, tails = [], []
    for encoding in tokenizer.encode_batch(list(prompts)):
        cut = encoding.ids.index(start, 1) + _USER_TURN_TOKENS
        heads.append(tuple(encoding.ids[:cut]))
        tails.append(encoding.ids[cut:])
    return heads, tails


def bucketed(
    tokenizer: Tokenizer, prompts: Sequence[str], images: Sequence[int]
) -> tuple[NDArray[np.int64], tuple[Rows, ...]]:
    """Tokenize prompts; return the distinct system turns, and the rest in groups of similar length, padded with `END`.

    Args:
        images: Index of each prompt's image, or -1.
    """
    heads, tails = _split_heads(tokenizer, prompts)
    known = {head: index for index, head in enumerate(dict.fromkeys(heads))}
    seeing = [row for row, image in enumerate(images) if image >= 0]
    texts = sorted((row for row, image in enumerate(images) if image < 0), key=lambda row: len(tails[row]))
    groups = [seeing, *(list(part) for part in np.array_split(texts, _TEXT_BUCKETS))]
    rows = tuple(
        Rows(
            ids=_padded([tails[row] for row in group], special_ids(tokenizer)[END]),
            lengths=np.array([len(tails[row]) for row in group]),
            heads=np.array([known[heads[row]] for row in group]),
            images=np.array([images[row] for row in group]),
            order=np.array(group),
        )
        for group in groups
        if group
    )
    return _padded(list(known), PADDING), rows


def _meaning_ids(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys])


def make_batch(tokenizer: Tokenizer, seed: int, step: int, max_objects: int = MAX_OBJECTS) -> Batch:
    """The batch of one step; the same seed, step and limit give the same batch.

    Every image stands in it under all five aspects, so that its own other captions are negatives.
    """
    rng = np.random.default_rng([seed, 1, step])
    side, num_scenes, _ = _SIZES[int(rng.choice(len(_SIZES), p=[share for *_, share in _SIZES]))]
    scenes = [sample_scene(rng, held_out=False, max_objects=max_objects) for _ in range(num_scenes)]
    num_tokens = (side // TOKEN_PIXELS) ** 2
    pairs: list[tuple[int, Scene, Aspect]] = [
        (index, scene, aspect) for index, scene in enumerate(scenes) for aspect in ASPECTS
    ]
    queries = [_query(scene, aspect, num_tokens, rng) for _, scene, aspect in pairs]
    images = [index if "<|image_pad|>" in query else -1 for (index, _, _), query in zip(pairs, queries, strict=True)]
    answers = [render(_caption_instruction(aspect, rng), caption(scene, aspect, rng)) for _, scene, aspect in pairs]
    heads, rows = bucketed(tokenizer, [*queries, *answers], [*images, *[-1] * len(answers)])
    pairs_of_rows = [attributes(scene, aspect) for _, scene, aspect in pairs]
    return Batch(
        pixels=np.stack([np.asarray(draw(scene, side)) for scene in scenes]),
        heads=heads,
        rows=rows,
        cells=np.stack([cell_attributes(scene) for scene in scenes]),
        meanings=_meaning_ids([(aspect, meaning(scene, aspect)) for _, scene, aspect in pairs]),
        attributes=np.stack([targets for targets, _ in pairs_of_rows]),
        asked=np.stack([asked for _, asked in pairs_of_rows]),
    )
