"""Cost of a request by its tokens, up to the largest batch: a line, and memory within what the settings say."""

from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.linear_fit import fit_line
from tests.bench.memory import MemoryWatch, within_budget
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.service import Service
from tests.bench.sides.side import Side
from tests.bench.spread import spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TOKENS_EACH = 100
"""Of each text: all batches are made alike, so that only their size differs."""
TEMPLATE_TOKENS = 20


def run(stage: Stage) -> Measured:
    """Seconds over tokens with their line; and the most memory that was taken."""
    service = stage.serve("tokens", "--encoder-cache-bytes", "0")
    memory = MemoryWatch(service.server)
    with memory:
        works = dict(_sized(stage, service, num_tokens) for num_tokens in stage.scale.batch_tokens)
        sides: dict[str, Side] = {"service": service, "bare forward": stage.bare}
        cases = [Case(f"{name} {num}", side, same(work)) for name, side in sides.items() for num, work in works.items()]
        spent = interleave(cases, stage.scale.curve_rounds)
    medians = {name: [spread(spent[f"{name} {num}"]).median for num in works] for name in sides}
    words = "memory while these run, of what the settings allow"
    resident = within_budget("tokens_memory", words, memory, stage.checkpoint)
    return Measured([_linear(list(works), medians, stage.scale.curve_rounds), resident])


def _sized(stage: Stage, service: Service, num_tokens: int) -> tuple[float, Work]:
    """A request, and the tokens that it has by the service's own count."""
    work = Work([text_body(stage.texts.texts(max(1, num_tokens // (TOKENS_EACH + TEMPLATE_TOKENS)), TOKENS_EACH))])
    service.prepare("count", work)
    service.run("count")
    return float(service.usage("count", "total_tokens")), work


def _linear(tokens: list[float], medians: dict[str, list[float]], num_rounds: int) -> Figure:
    fit, bare = (fit_line(tokens, medians[name]) for name in ("service", "bare forward"))
    notes = [
        f"service: {fit.slope * 1e6:.1f} µs for each token and {fit.offset * 1e3:.1f} ms for each request",
        f"bare forward: {bare.slope * 1e6:.1f} µs and {bare.offset * 1e3:.1f} ms, R² {bare.r2:.5f}",
    ]
    words = f"R² of a line through seconds over tokens, {tokens[0]:.0f} to {tokens[-1]:.0f} tokens in one request"
    return Figure("tokens_linear_r2", words, exactly(fit.r2), "", Bar("≥", 0.99), num_rounds, notes)


PART = Part("tokens", "requests of up to 8,192 tokens", run)
