"""Several front processes: what two of them answer in the time of one, where the front is what is short.

Client, fronts and engine share the cores. Two fronts can at best give what all their CPU time for a request allows on
so many cores; that limit is noted beside the figure.
"""

import os
import time

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.cpu import KEPT, TEXT_TOKENS, cpu_seconds
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.service import Service
from tests.bench.spread import ratio
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body
from tests.conftest import children_of

CONCURRENCY = 128
"""As many that two fronts are never without a request, however their connections are shared out."""


def run(stage: Stage) -> Measured:
    """Requests a second of two fronts over those of one, short requests with every vector kept."""
    num_requests = stage.scale.num_cpu_requests
    (text,) = stage.texts.texts(1, TEXT_TOKENS)
    work = same(Work([text_body([text])] * num_requests, CONCURRENCY))
    services = {name: stage.serve(f"fronts_{name}", "--fronts", name, *KEPT) for name in ("1", "2")}
    spent = interleave([Case(name, service, work) for name, service in services.items()], stage.scale.num_rounds)
    per_s = {name: num_requests / sorted(seconds)[len(seconds) // 2] for name, seconds in spent.items()}
    us = _microseconds(services["2"], num_requests)
    limit = os.cpu_count() or 1
    notes = [
        f"{per_s['1']:,.0f} and {per_s['2']:,.0f} requests/s with {CONCURRENCY} connections",
        (
            f"CPU of a request with two fronts: service {us['service']:.0f} µs, client {us['client']:.0f} µs; "
            f"{limit} cores can give {limit * 1e6 / sum(us.values()):,.0f} requests/s"
        ),
    ]
    words = "requests a second of two fronts over those of one, short requests with every vector kept"
    value = ratio(spent["1"], spent["2"])
    return Measured([Figure("two_fronts", words, value, "×", Bar("≥", 1.5), stage.scale.num_rounds, notes, spent)])


def _microseconds(service: Service, num_requests: int) -> dict[str, float]:
    """CPU of all processes of the service, and of this one, for a request of one more run."""
    main = service.server.process.pid
    pids = [main, *children_of(main)]
    before, before_s = sum(map(cpu_seconds, pids)), time.process_time()
    service.run("2")
    spent_s = {"service": sum(map(cpu_seconds, pids)) - before, "client": time.process_time() - before_s}
    return {name: seconds / num_requests * 1e6 for name, seconds in spent_s.items()}


PART = Part("fronts", "two front processes over one (built-in model)", run, model="builtin")
