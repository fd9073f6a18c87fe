"""One image under many instructions: the case that the encoder cache is for."""

from collections.abc import Iterator

from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import ratio
from tests.bench.stage import Stage
from tests.bench.work import Work, instructed_body
from tests.conftest import image

SEED = 200_000
COUNTERS = ("cenote_pictures_decoded_total", "cenote_vision_encodes_total")


def run(stage: Stage) -> Measured:
    """Cached over the language model alone, and over images that are all new; with the counters as witnesses."""
    scale = stage.scale
    instructions = [
        f"Represent the image for purpose {n}: {stage.texts.text(6)}." for n in range(scale.num_instructions)
    ]
    seeds = iter(range(SEED, 2 * SEED))
    known = Work([instructed_body([_image(stage, 0)] * len(instructions), instructions)])

    def unseen(_: int) -> Work:
        return Work([instructed_body([_image(stage, next(seeds)) for _ in instructions], instructions)])

    cases = [
        Case("cached", stage.service, lambda _: known),
        Case("language", stage.bare, lambda _: known),
        Case("uncached", stage.service, unseen, is_fresh=True),
    ]
    spent = interleave(cases, scale.num_rounds)
    return Measured([*_ratios(stage, spent), *_counted(stage)])


def _image(stage: Stage, seed: int) -> str:
    return image(seed, stage.scale.image_px, stage.scale.image_px, "JPEG")


def _ratios(stage: Stage, spent: dict[str, list[float]]) -> Iterator[Figure]:
    scale = stage.scale
    notes = [f"one image of {scale.image_px} px × {scale.num_instructions} instructions in one request"]
    words = "throughput of one known image × instructions, over the language model alone on those prompts"
    value, both = ratio(spent["language"], spent["cached"]), {name: spent[name] for name in ("cached", "language")}
    yield Figure("instructions_over_language", words, value, "×", Bar("≥", 0.9), scale.num_rounds, notes, both)
    words = "the same over as many images that were never seen"
    value, both = ratio(spent["uncached"], spent["cached"]), {name: spent[name] for name in ("cached", "uncached")}
    yield Figure("instructions_over_uncached", words, value, "×", None, scale.num_rounds, notes, both)


def _counted(stage: Stage) -> Iterator[Figure]:
    """Cost of a known image beside the language model: nothing, if the counters stand still."""
    server = stage.service.server
    before = [server.metric(name) for name in COUNTERS]
    for _ in range(stage.scale.num_rounds):
        stage.service.run("cached")
    num_asked = stage.scale.num_rounds * stage.scale.num_instructions
    for name, was in zip(COUNTERS, before, strict=True):
        what = "decoded and resized" if "decoded" in name else "encoded"
        notes = [f"{num_asked} inputs, by the counter {name}"]
        number = exactly(server.metric(name) - was)
        short = f"repeat_{what.split()[0]}"
        yield Figure(short, f"times that a known image was {what} again", number, "", Bar("≤", 0), 1, notes)


PART = Part("instructions", "one image under many instructions", run)
