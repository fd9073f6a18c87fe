"""CPU time of the front, by the kernel's count of its process: it holds also beside other work.

With every vector kept the engine hardly computes, and what the front spends on HTTP, checks, prompts and answers shows.
"""

import os
from pathlib import Path

from tests.bench.figure import Bar, Figure, spread
from tests.bench.parts.part import Part
from tests.bench.sides.service import Service
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TEXT_TOKENS = 8
CONCURRENCY = 16


def run(stage: Stage) -> list[Figure]:
    """Microseconds for a short request, and for an input of requests that hold many."""
    kept, scale = stage.serve("kept", "--result-cache-bytes", str(256 << 20)), stage.scale
    texts = stage.texts.texts(scale.num_per_request, TEXT_TOKENS)
    short = Work([text_body(texts[:1])] * scale.num_cpu_requests, CONCURRENCY)
    large = Work([text_body(texts)] * max(1, scale.num_cpu_requests // 40), CONCURRENCY)
    figures = []
    for name, what, work, num, bar in (
        ("request", "a short request", short, len(short.bodies), 400.0),
        ("input", f"an input of requests of {len(texts)}", large, len(large.bodies) * len(texts), 40.0),
    ):
        spent = _microseconds(kept, work, num, scale.num_rounds)
        words = f"CPU of the front for {what}, its vector kept"
        figures.append(Figure(f"front_cpu_{name}_kept", words, spread(spent), "µs", Bar("≤", bar), len(spent)))
    return figures


def _microseconds(service: Service, work: Work, num: int, num_rounds: int) -> list[float]:
    """Microseconds that the front spends on one of `num` requests or inputs, by round; the first round warms up."""
    pid, spent = service.server.process.pid, []
    service.prepare("cpu", work)
    service.run("cpu")
    for _ in range(num_rounds):
        before_s = _cpu_seconds(pid)
        service.run("cpu")
        spent.append((_cpu_seconds(pid) - before_s) / num * 1e6)
    return spent


def _cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process so far, also of those that have ended. Source: proc(5), `stat`."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


PART = Part("cpu", "CPU of the front per request and per input (built-in model)", run, model="builtin")
