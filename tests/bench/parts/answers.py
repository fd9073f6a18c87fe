"""Large answers: thousands of vectors in one, as base64 and as numbers."""

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TEXT_TOKENS = 4
MOST_US = 150.0
"""For each vector, on two cores like those of docs/speed.md, where it was 120: a tenth was given up for plainer code,
and a start of the server or an hour of the machine moves it by another."""


def run(stage: Stage) -> Measured:
    """Time of each vector of a large answer, the forward included."""
    texts = stage.texts.texts(stage.scale.num_vectors, TEXT_TOKENS)
    forms = ("base64", "floats")
    works = [Work([text_body(texts, form)]) for form in ("base64", "float")]
    cases = [Case(form, stage.service, same(work)) for form, work in zip(forms, works, strict=True)]
    spent = interleave(cases, stage.scale.num_brief_rounds)
    return Measured([_figure(stage, spent, form) for form in forms])


def _figure(stage: Stage, spent: dict[str, list[float]], form: str) -> Figure:
    num = stage.scale.num_vectors
    notes = [f"{num} vectors in {stage.service.num_bytes(form) / 1e6:.1f} MB"]
    value = spread(spent[form]).scaled(1e6 / num)
    words = f"a large answer as {form}, for each vector"
    seconds = {form: spent[form]}
    return Figure(f"answer_{form}", words, value, "µs", Bar("≤", MOST_US), stage.scale.num_brief_rounds, notes, seconds)


PART = Part("answers", "2,048 vectors in one answer (built-in model)", run, model="builtin")
