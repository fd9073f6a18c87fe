"""With keys: all paths and methods are closed but probes and open pages; times tell nothing of a key.

The times are of the comparing function in this process: over a network they would drown in noise, and prove nothing.
"""

import gc
import http.client
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from service.front.admission.api_keys import Keyring
from service.front.admission.key_file import new_key
from service.front.admission.shared_table import SharedTable
from service.http.route_table import ROUTE_HANDLERS
from service.openapi.document import build
from service.playground.files import FILES
from service.reference.pages import HOME, NAMES, SEARCH
from tests.builders import write_keys
from tests.conftest import LiveServer
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served

OPEN = {"/livez", "/readyz", "/health", "/metrics", "/", HOME, SEARCH, *(f"{HOME}/{name}" for name in NAMES), *FILES}
RESPELLED = ("/livez", "/readyz", "/health", "/metrics", "/", "/playground/main.js")
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
SPELLINGS = (
    "{}/", "/{}", "{}/x", "{}z", "{}/../v1/models", "/v1/models{}", "{}%2f..%2fv1%2fmodels", "{}%00", "{};x", "/x/..{}",
)  # fmt: skip
NUM_KEYS = 32
MAX_T = 4.5
KEPT = 0.9
"""Of the times, the rest being the longest: what the machine did meanwhile."""


@line(
    20,
    "every path, method and wrong key; times of a comparison",
    "only the probes, /metrics, the playground's files and the reference's pages open; abs(t) < 4.5",
    sizes=(50_000, 200_000),
)
def run(size: int, folder: Path) -> Result:
    """Knock at every door, then take `size` times for each of two questions."""
    keys = [new_key() for _ in range(NUM_KEYS)]
    path = write_keys(folder / "keys.jsonl", {f"t{i}": key for i, key in enumerate(keys)})
    with served(folder / "server.log", "--api-keys", str(path)) as server:
        doors = list(_doors(server, keys[0]))
    opened = [one for one in doors if one]
    near = _t_value(path, lambda draw: _near(draw, keys[0]), lambda draw: new_key().encode(), size)
    place = _t_value(path, lambda draw: keys[0].encode(), lambda draw: keys[-1].encode(), size)
    figures = [f"{len(doors)} doors", f"t {near:.2f} nearly right, {place:.2f} first or last key"]
    too_far = [f"t is {t:.2f}" for t in (near, place) if not abs(t) < MAX_T]
    return Result(len(doors) + 2 * size, len(opened) + len(too_far), [*opened[:5], *too_far, *figures])


def _doors(server: LiveServer, key: str) -> Iterator[str]:
    """Every path with every method and every wrong way to send a key; what answered as it should not, or nothing."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
    wrong = ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {key}"}, {"x-api-key": key + "x"})
    twice = {"authorization": f"Bearer {key}", "x-api-key": key}
    for path in sorted(_paths()):
        for method in METHODS:
            for headers in (*wrong, twice):
                answer = _ask(connection, method, path, headers)
                is_right = (answer.status != 401) if path in OPEN else _is_refusal(answer)
                yield "" if is_right else f"{method} {path} answered {answer.status}"
        answer = _ask(connection, "GET", path, {"authorization": f"Bearer {key}"})
        yield f"{path} answered 401 to a key" if answer.status == 401 else ""


def _ask(
    connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str]
) -> http.client.HTTPResponse:
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer


def _is_refusal(answer: http.client.HTTPResponse) -> bool:
    return answer.status == 401 and (answer.getheader("www-authenticate") or "").startswith("Bearer")


def _paths() -> set[str]:
    documented = {path.format(model_id="builtin", deployment="builtin") for path in build()["paths"]}
    routed = {
        path.replace("{model_id:path}", "a/b").replace("{deployment:str}", "a")
        for handler in ROUTE_HANDLERS
        for path in handler.paths
    }
    strange = {spelling.format(path) for path in RESPELLED for spelling in SPELLINGS}
    return documented | routed | strange | {"/none", "/schema", "/v1", "/.env", "/v1/models/health"}


def _near(draw: random.Random, key: str) -> bytes:
    """A key that is right but for its last two characters."""
    return (key[:-2] + "".join(draw.choices("abcdefghijklmnop", k=2))).encode()


def _t_value(
    path: Path, first: Callable[[random.Random], bytes], second: Callable[[random.Random], bytes], size: int
) -> float:
    """Welch's t of the times of two kinds of keys, asked in an order that is drawn.

    All keys are made before, in that order, so that neither kind is warmer than the other when its turn comes.
    """
    ring, draw = Keyring(path, SharedTable.of_one_front()), random.Random(20)
    kinds = [draw.getrandbits(1) for _ in range(size)]
    candidates = [(second if kind else first)(draw) for kind in kinds]
    times: tuple[list[int], list[int]] = ([], [])
    gc.disable()
    try:
        for kind, candidate in zip(kinds, candidates, strict=True):
            began_ns = time.perf_counter_ns()
            ring.find(candidate)
            times[kind].append(time.perf_counter_ns() - began_ns)
    finally:
        gc.enable()
    bound = sorted(times[0] + times[1])[int(KEPT * size)]
    a, b = ([one for one in each if one <= bound] for each in times)
    spread = statistics.variance(a) / len(a) + statistics.variance(b) / len(b)
    return (statistics.fmean(a) - statistics.fmean(b)) / spread**0.5
