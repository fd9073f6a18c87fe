"""Large answers: thousands of vectors in one, as base64 and as numbers."""

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import difference
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TEXT_TOKENS = 4
MOST_ADDED_US = 30.0
"""For each vector. It was 6 to 11 while answers were printed beside forwards. A tenth of an answer, up to 12 µs each,
was given up for plainer code, and a start of the server or an hour of the machine moves it by as much as it was."""


def run(stage: Stage) -> Measured:
    """Time that the service adds to the bare forward."""
    num = stage.scale.num_vectors
    texts = stage.texts.texts(num, TEXT_TOKENS)
    base64, floats = (same(Work([text_body(texts, form)])) for form in ("base64", "float"))
    cases = [
        Case("base64", stage.service, base64),
        Case("floats", stage.service, floats),
        Case("bare", stage.bare, base64),
    ]
    spent = interleave(cases, stage.scale.num_brief_rounds)
    return Measured([_figure(stage, spent, form) for form in ("base64", "floats")])


def _figure(stage: Stage, spent: dict[str, list[float]], form: str) -> Figure:
    num = stage.scale.num_vectors
    notes = [f"{num} vectors in {stage.service.num_bytes(form) / 1e6:.1f} MB"]
    words = f"what the service adds to each vector of a large answer as {form}"
    both = {name: spent[name] for name in (form, "bare")}
    value = difference(spent[form], spent["bare"]).scaled(1e6 / num)
    bar = Bar("≤", MOST_ADDED_US)
    return Figure(f"answer_{form}", words, value, "µs", bar, stage.scale.num_brief_rounds, notes, both)


PART = Part("answers", "2,048 vectors in one answer (built-in model)", run, model="builtin")
