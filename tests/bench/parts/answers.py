"""Large answers: thousands of vectors in one, as base64 and as numbers."""

from tests.bench.figure import Bar, Figure, difference
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TEXT_TOKENS = 4
MOST_ADDED_US = 30.0
"""For each vector. It was 6 to 11 while answers were printed beside forwards. A tenth of an answer, up to 12 µs each,
was given up for plainer code, and a start of the server or an hour of the machine moves it by as much as it was."""


def run(stage: Stage) -> list[Figure]:
    """Time that the service adds to the bare forward."""
    num, num_rounds = stage.scale.num_vectors, stage.scale.num_brief_rounds
    texts = stage.texts.texts(num, TEXT_TOKENS)
    base64, floats = (same(Work([text_body(texts, form)])) for form in ("base64", "float"))
    cases = [
        Case("base64", stage.service, base64),
        Case("floats", stage.service, floats),
        Case("bare", stage.bare, base64),
    ]
    spent = interleave(cases, num_rounds)
    return [
        Figure(
            f"answer_{form}",
            f"what the service adds to each vector of a large answer as {form}",
            difference(spent[form], spent["bare"]).scaled(1e6 / num),
            "µs",
            Bar("≤", MOST_ADDED_US),
            num_rounds,
            [f"{num} vectors in {stage.service.num_bytes(form) / 1e6:.1f} MB"],
            {name: spent[name] for name in (form, "bare")},
        )
        for form in ("base64", "floats")
    ]


PART = Part("answers", "2,048 vectors in one answer (built-in model)", run, model="builtin")
