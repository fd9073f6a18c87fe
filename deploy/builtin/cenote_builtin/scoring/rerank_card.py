"""Writes the reranker's figures to `reranking.json` and `RERANKING.md`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cenote_builtin.scoring.scorecard import table


def _hard(figures: Mapping[str, Any]) -> str:
    rows = {}
    for kind, found in figures["hard"].items():
        stages = [found[way][when] for way in ("text_to_image", "image_to_text") for when in ("before", "after")]
        rows[kind] = [*stages, found["pairs"]["right"]]
    ways = ["text to image", "reranked", "image to text", "reranked", "pairs judged rightly"]
    return table("scenes differ in", ways, rows)


def _others(figures: Mapping[str, Any]) -> str:
    cases = {f"{aspect}, image to caption": found for aspect, found in figures["aspects"].items()}
    cases["a named object or two, text to image"] = figures["contained"]
    rows = {name: [found["before"], found["after"], found["among"]] for name, found in cases.items()}
    return table("query", ["embedder", "reranked", "among the first"], rows)


_INTRO = """# Score card of the small reranker

Recall at 1 of the embedder, and after the reranker has ordered its first {num_first}: {num_queries} queries a row,
{num_candidates} candidates each, images of 128 px, scenes held out of both trainings. Both stages see the same.
Measured on the stored bfloat16 weights, computed in float32 by transformers' stock forward. Made by
`python -m cenote_builtin.scoring.rerank`."""
_HARD = """## Hard scenes

For each query three candidates differ from the wanted one in one thing: color, shape, count, position or size of one
object, or two objects have exchanged theirs. The query says everything. Of the pairs that are judged, half are right
and half differ in one thing: chance is 0.5."""
_RANDOM = """## Random scenes

Captions of one aspect, under its instruction in both stages; and images that contain what the query names ("a red
circle and something green at the top"). The last column is what reranking can reach."""
_TRAINING = """## Training

Seed {seed}, {steps:,} steps, {pairs:,} pairs over {pictures:,} images. {num_trained:,} of {num_parameters:,} parameters
were trained, the others are the embedder's vision tower. {minutes:.0f} minutes on {machine} ({num_threads} threads),
torch {torch_version}.
"""


def render_card(figures: Mapping[str, Any]) -> str:
    """The readable card."""
    training = figures["training"]
    made = _TRAINING.format(**training, minutes=training["training_s"] / 60)
    return "\n\n".join([_INTRO.format(**figures), _HARD, _hard(figures), _RANDOM, _others(figures), made])


def write_card(out: Path, figures: Mapping[str, Any]) -> str:
    """Write both files of what `rerank.measure` returns, and return the readable one."""
    text = render_card(figures)
    out.mkdir(parents=True, exist_ok=True)
    (out / "reranking.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "RERANKING.md").write_text(text)
    return text
