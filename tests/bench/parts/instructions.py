"""One image under many instructions: the case that the encoder cache is for."""

from tests.bench.figure import Bar, Figure, exactly, ratio
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.sides.service import Service
from tests.bench.stage import Stage
from tests.bench.work import Work, instructed_body
from tests.conftest import image

SEED = 200_000
COUNTERS = {"decoded": "cenote_pictures_decoded_total", "encoded": "cenote_vision_encodes_total"}


def run(stage: Stage) -> list[Figure]:
    """Cached over images that are all new; with the counters as witnesses."""
    num, px, num_rounds = stage.scale.num_instructions, stage.scale.image_px, stage.scale.num_rounds
    instructions = [f"Represent the image for purpose {n}: {stage.texts.text(6)}." for n in range(num)]
    seeds = iter(range(SEED, 2 * SEED))
    known = Work([instructed_body([image(0, px, px, "JPEG")] * num, instructions)])

    def unseen(_: int) -> Work:
        return Work([instructed_body([image(next(seeds), px, px, "JPEG") for _ in instructions], instructions)])

    cases = [Case("cached", stage.service, lambda _: known), Case("uncached", stage.service, unseen, is_fresh=True)]
    spent = interleave(cases, num_rounds)
    notes = [f"one image of {px} px × {num} instructions in one request"]
    words = "throughput of one known image × instructions, over as many images that were never seen"
    value = ratio(spent["uncached"], spent["cached"])
    saved = Figure("instructions_over_uncached", words, value, "×", None, num_rounds, notes, spent)
    again = {f"repeat_{what}": f"times that a known image was {what} again" for what in COUNTERS}
    return [saved, *counted(stage.service, "cached", again, num_rounds, f"{num} instructions")]


def counted(service: Service, label: str, names: dict[str, str], num_rounds: int, of_each: str) -> list[Figure]:
    """Decodings and encodings of what is known by now, in some more rounds: none, if the counters stand still.

    Args:
        service: who is asked.
        label: of the work that is prepared.
        names: of the figures of both counters, with their words.
        num_rounds: how often it is asked.
        of_each: what a round holds, in words.
    """
    before = [service.server.metric(name) for name in COUNTERS.values()]
    for _ in range(num_rounds):
        service.run(label)
    return [
        Figure(short, words, exactly(service.server.metric(counter) - was), "", Bar("≤", 0), 1,
               [f"{num_rounds} × {of_each}, by the counter {counter}"])
        for (short, words), counter, was in zip(names.items(), COUNTERS.values(), before, strict=True)
    ]  # fmt: skip


PART = Part("instructions", "one image under many instructions", run)
