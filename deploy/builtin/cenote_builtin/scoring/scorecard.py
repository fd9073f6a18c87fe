"""Writes the score card's figures to `scorecard.json` and `SCORECARD.md`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

CARDS: Final = Path(__file__).resolve().parents[2]
"""The folder of the cards and their figures."""

_HARD = (
    "Each of 100 queries says everything about a scene. Three of its 200 candidates differ from the wanted one in one\n"
    "thing: color, shape, place or size of one object, what two objects have exchanged, one object more or less."
)


def table(rows_are: str, header: Sequence[str], rows: Mapping[str, Sequence[float]]) -> str:
    """A Markdown table of figures, three places each; `header` is of their columns, `rows_are` of the names."""
    lines = [f"| {rows_are} | " + " | ".join(header) + " |", "| --- |" + " ---: |" * len(header)]
    lines += [f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |" for name, values in rows.items()]
    return "\n".join(lines)


def _by_instruction(title: str, header: Sequence[str], rows: Mapping[str, Sequence[float]]) -> str:
    return f"## {title}\n\n{table('instruction', header, rows)}"


def _recall_table(title: str, recalls: Mapping[str, Mapping[str, float]]) -> str:
    lengths = sorted(next(iter(recalls.values())), key=int, reverse=True)
    rows = {aspect: [row[length] for length in lengths] for aspect, row in recalls.items()}
    return _by_instruction(title, lengths, rows)


def _int8(figures: Mapping[str, Any]) -> str:
    """Recall in int8, and in the last row the error of cosines, where smaller is better."""
    exact, kinds = figures["image_to_text"], figures["image_to_text_int8"]
    lengths = ("256", "32")
    rows = {
        aspect: [value for length in lengths for value in _three(exact[aspect][length], kinds, aspect, length)]
        for aspect in exact
    }
    errors = [[0.0, *(kind["cosine_error"][length] for kind in kinds.values())] for length in lengths]
    rows["error of a cosine"] = [value for part in errors for value in part]
    header = [f"{name}, {length}" for length in lengths for name in ("float", "int8 fixed", "int8 calibrated")]
    return _by_instruction("Image to text in int8, by the cosine of the integers", header, rows)


def _three(exact: float, kinds: Mapping[str, Any], aspect: str, length: str) -> list[float]:
    return [exact, *(kind["recall"][aspect][length] for kind in kinds.values())]


def _others(figures: Mapping[str, Any]) -> str:
    mixed, unseen = figures["image_to_text_mixed_pool"], figures["image_to_text_unseen_wording"]
    sizes = figures["image_to_text_at_size"]
    rows = {aspect: [mixed[aspect], unseen[aspect], *(sizes[size][aspect] for size in sizes)] for aspect in mixed}
    header = [
        "all 1,000 captions at once",
        "instruction worded as never in training",
        *(f"{size} px" for size in sizes),
    ]
    return _by_instruction("Image to text at 256 dimensions, harder or different", header, rows)


def _hard(figures: Mapping[str, Any]) -> str:
    """Recall where three candidates differ from the wanted one in one thing."""
    names = {"text_to_image": "text to image", "image_to_text": "image to text", "among_first": "among the first ten"}
    rows = {kind: [found[name] for name in names] for kind, found in figures["hard_scenes"].items()}
    return f"## Hard scenes, 256 dimensions\n\n{_HARD}\n\n{table('difference', list(names.values()), rows)}"


def _render(figures: Mapping[str, Any]) -> str:
    training, both = figures["training"], figures["colors_and_shapes_both_right"]
    intro = (
        "# Score card of the built-in model\n\n"
        f"Recall at 1 among {figures['num_candidates']} candidates, mean of {figures['num_draws']} draws, images of "
        f"{figures['size_pixels']} px. A hit is a first candidate that means the same under the instruction.\n"
        "Scenes are held out of training by the hash of everything in them; single colors, shapes and places are not.\n"
        "Captions come from the full set of wordings. Measured on the stored bfloat16 weights, computed in float32 by\n"
        "transformers' stock forward. Made by `python -m cenote_builtin.scoring.score`."
    )
    same = ", ".join(f"{value:.3f} at {length}" for length, value in sorted(both.items(), key=lambda x: -int(x[0])))
    made = (
        f"## Training\n\nSeed {training['seed']}, {training['tower_steps']} steps of the tower alone and "
        f"{training['steps']} contrastive steps,\n{training['pictures']:,} images, "
        f"{training['num_parameters']:,} parameters, {training['training_s'] / 60:.0f} minutes on "
        f"{training['machine']} ({training['num_threads']} threads),\ntorch {training['torch_version']}."
    )
    return "\n\n".join(
        [
            intro,
            _recall_table("Image to text", figures["image_to_text"]),
            _recall_table("Text to image", figures["text_to_image"]),
            f"The same image right under `colors` and under `shapes` at once: {same}.",
            _int8(figures),
            _others(figures),
            _hard(figures),
            made,
            "",
        ]
    )


def write_scorecard(out: Path, figures: Mapping[str, Any]) -> str:
    """Write both files of what `score.measure` returns, and return the readable one."""
    text = _render(figures)
    (out / "scorecard.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "SCORECARD.md").write_text(text)
    return text
