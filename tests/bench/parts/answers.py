"""Large answers: thousands of vectors in one, as base64 and as numbers."""

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import difference, ratio
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TEXT_TOKENS = 4


def run(stage: Stage) -> Measured:
    """Throughput over the bare forward."""
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
    added_us = difference(spent[form], spent["bare"]).median / num * 1e6
    megabytes = stage.service.num_bytes(form) / 1e6
    notes = [f"{num} vectors in {megabytes:.1f} MB; {added_us:.0f} µs per vector more than the bare forward"]
    words = f"throughput of a large answer as {form}, over the bare forward"
    both = {name: spent[name] for name in (form, "bare")}
    value = ratio(spent["bare"], spent[form])
    return Figure(f"answer_{form}", words, value, "×", Bar("≥", 0.9), stage.scale.num_brief_rounds, notes, both)


PART = Part("answers", "2,048 vectors in one answer (built-in model)", run, model="builtin")
