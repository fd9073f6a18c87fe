"""CPU time of the front, over that of the least HTTP service: it holds also beside other work, and on any processor.

With every vector kept the engine hardly computes, and what the front spends on HTTP, checks, prompts and answers shows.
"""

from collections.abc import Mapping

from tests.bench.figure import Bar, Figure, ratio, spread
from tests.bench.machine import cpu_s
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.bare_http import BareHttp
from tests.bench.sides.over_http import OverHttp
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TEXT_TOKENS = 8
CONCURRENCY = 16
PARSERS = ("h11", "httptools")
"""Of bare applications. The front's connections are made of h11; httptools is in C, and the least there is."""


class CpuOf:
    """A side over HTTP whose clock is the CPU time of its server's process.

    Args:
        asked: the side.
        pid: of that process.
    """

    def __init__(self, asked: OverHttp, pid: int) -> None:
        self._asked, self._pid = asked, pid
        self.vectors, self.close = asked.vectors, asked.close

    def prepare(self, label: str, work: Work) -> None:
        self._asked.prepare(label, work)

    def run(self, label: str) -> float:
        before_s = cpu_s(self._pid)
        self._asked.run(label)
        return cpu_s(self._pid) - before_s


def run(stage: Stage) -> list[Figure]:
    """Of a short request, and of an input of requests that hold many; over a short request of a bare application."""
    kept, scale = stage.serve("kept", "--result-cache-bytes", str(256 << 20)), stage.scale
    texts = stage.texts.texts(scale.num_per_request, TEXT_TOKENS)
    short = Work([text_body(texts[:1])] * scale.num_cpu_requests, CONCURRENCY)
    large = Work([text_body(texts)] * max(1, scale.num_cpu_requests // 40), CONCURRENCY)
    front = CpuOf(kept, kept.server.process.pid)
    cases = {"request": Case("request", front, same(short)), "input": Case("input", front, same(large))}
    answer = kept.server.ask(short.path, short.bodies[0])
    for parser in PARSERS:
        bare = stage.keep(BareHttp(answer, parser))
        cases[parser] = Case(parser, CpuOf(bare, bare.process.pid), same(short))
    nums = dict.fromkeys(cases, len(short.bodies)) | {"input": len(large.bodies) * len(texts)}
    spent = interleave(list(cases.values()), scale.num_rounds)
    each = {name: [seconds / nums[name] for seconds in spent[name]] for name in cases}
    request, an_input = "a short request, its vector kept", f"an input of requests of {len(texts)}, its vector kept"
    return [
        _figure("request_kept", request, each, ("request", "h11"), Bar("≤", 2.5)),
        _figure("request_over_httptools", request, each, ("request", "httptools"), None),
        _figure("input_kept", an_input, each, ("input", "h11"), Bar("≤", 0.25)),
    ]


def _figure(name: str, of: str, each: Mapping[str, list[float]], sides: tuple[str, str], bar: Bar | None) -> Figure:
    """CPU time of the first side over that of the second, round by round."""
    ours, parser = sides
    what = f"CPU of the front for {of}, over that of a bare application on uvicorn with {parser} for a short request"
    times = [f"{side} {spread(each[side]).median * 1e6:.1f} µs" for side in sides]
    return Figure(f"front_cpu_{name}", what, ratio(each[ours], each[parser]), "×", bar, len(each[ours]), times)


PART = Part("cpu", "CPU of the front per request and per input (built-in model)", run, model="builtin")
