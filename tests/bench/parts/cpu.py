"""CPU time of front and engine, by the kernel's count of each process: it holds also beside other work.

With every vector kept the engine hardly computes, and what the front spends on HTTP, checks, prompts and answers shows.
"""

import os
from pathlib import Path

from tests.bench.figure import Bar, Figure
from tests.bench.parts.part import Part
from tests.bench.sides.service import Service
from tests.bench.spread import spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TEXT_TOKENS = 8
CONCURRENCY = 16
BARS = {"front_cpu_request_kept": Bar("≤", 400.0), "front_cpu_input_kept": Bar("≤", 40.0)}


def run(stage: Stage) -> list[Figure]:
    """Microseconds for a short request, and for an input of requests that hold many."""
    kept = stage.serve("kept", "--result-cache-bytes", str(256 << 20))
    texts = stage.texts.texts(stage.scale.num_per_request, TEXT_TOKENS)
    num_requests = stage.scale.num_cpu_requests
    single = Work([text_body(texts[:1])] * num_requests, CONCURRENCY)
    num_large = max(1, num_requests // 40)
    large = Work([text_body(texts)] * num_large, CONCURRENCY)
    num_inputs = num_large * len(texts)
    figures = []
    for name, service, vectors in (("kept", kept, "its vector kept"), ("new", stage.service, "its vector computed")):
        short = _microseconds(service, single, num_requests, stage.scale.num_rounds)
        figures += _figures("request", f"a short request, {vectors}", name, short)
    figures += _figures("input", f"an input of requests of {len(texts)}, its vector kept", "kept",
                        _microseconds(kept, large, num_inputs, stage.scale.num_rounds))  # fmt: skip
    return figures


def _microseconds(service: Service, work: Work, num: int, num_rounds: int) -> dict[str, list[float]]:
    """Microseconds that each process spends on one of `num` requests or inputs, by round; the first round warms up."""
    pids = {"front": service.server.process.pid, "engine": service.server.engine_pid()}
    spent: dict[str, list[float]] = {name: [] for name in pids}
    service.prepare("cpu", work)
    service.run("cpu")
    for _ in range(num_rounds):
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        service.run("cpu")
        for name, pid in pids.items():
            spent[name].append((cpu_seconds(pid) - before[name]) / num * 1e6)
    return spent


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process so far, also of those that have ended. Source: proc(5), `stat`."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _figures(of: str, what: str, name: str, spent: dict[str, list[float]]) -> list[Figure]:
    words = {process: f"CPU of the {process} for {what}" for process in spent}
    return [
        Figure(figure, words[process], spread(values), "µs", BARS.get(figure), len(values))
        for process, values in spent.items()
        for figure in [f"{process}_cpu_{of}_{name}"]
    ]


PART = Part("cpu", "CPU of front and engine per request and per input (built-in model)", run, model="builtin")
