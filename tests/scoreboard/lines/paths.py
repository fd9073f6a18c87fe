"""Line 9: `file:` reads what is below the allowed folder and nothing else, whatever happens to the tree meanwhile."""

import base64
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import MediaError
from service.media.local_file import LocalFiles
from tests.conftest import image, image_part
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.paths_corpus import PathCase, build, path_cases
from tests.scoreboard.lines.raw_http import served

NUM_CASES = 120
SWAPPER = """
import os, sys
allowed, outside = sys.argv[1:]
spare = allowed + "/spare"
while os.getppid() == {parent}:
    os.symlink(outside + "/a.png", spare)
    os.replace(spare, allowed + "/race.png")
    os.link(allowed + "/a.png", spare)
    os.replace(spare, allowed + "/race.png")
    os.mkfifo(spare)
    os.replace(spare, allowed + "/pipe.png")
    os.link(allowed + "/a.png", spare)
    os.replace(spare, allowed + "/pipe.png")
    os.rename(allowed + "/swap", allowed + "/swap.real")
    os.symlink(outside, allowed + "/swap")
    os.unlink(allowed + "/swap")
    os.rename(allowed + "/swap.real", allowed + "/swap")
"""
"""In a process of its own: what a name stands for changes all the time, from a file to a trap and back."""

RACES = ("race.png", "swap/a.png", "pipe.png")
HANG_S = 2


@line(
    9,
    "paths by traversal, link, device and form, over HTTP; and reads while names are swapped",
    "0 outside reads",
    sizes=(10_000, 1_000_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    inside, secret = (_png(seed) for seed in (70, 71))
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    allowed = build(tree, inside, secret)
    failures: list[str] = []
    cases = path_cases(allowed)
    _ask_all(cases, allowed, folder, failures)
    seen = _race(size, allowed, inside, failures)
    shutil.rmtree(tree)
    notes = [f"races: {seen['inside']} read, {seen['refused']} refused, {seen['outside']} outside", *failures[:8]]
    return Result(len(cases) + size, len(failures) + seen["outside"], notes)


def _ask_all(cases: list[PathCase], allowed: Path, folder: Path, failures: list[str]) -> None:
    """Every case over HTTP: an image that was read is 200, wherever it lies."""
    flags = ("--media-paths", str(allowed), "--request-timeout-s", str(HANG_S))
    messages: set[str] = set()
    with served(folder / "server.log", *flags) as server:
        for case in cases:
            answer = server.http.post("/tokenize", json={"messages": [_message(case.source)]})
            if (answer.status_code == 200) != case.is_allowed or answer.status_code >= 500:
                failures.append(f"{case.source[-80:]!r}: {answer.status_code}")
            if answer.status_code >= 500:
                break
            if case.source.startswith("file:") and answer.status_code == 400:
                messages.add(answer.json()["error"]["message"])
    if len(messages) != 1:
        failures.append(f"refusals of file URLs differ: {sorted(messages)}")
    if len(cases) != NUM_CASES:
        failures.append(f"{len(cases)} cases, expected {NUM_CASES}")


def _message(source: str) -> dict[str, object]:
    return {"role": "user", "content": [image_part(source)]}


def _race(num_races: int, allowed: Path, inside: bytes, failures: list[str]) -> Counter[str]:
    seen: Counter[str] = Counter(inside=0, refused=0, outside=0)
    files = LocalFiles.of(str(allowed))
    with _swapped(allowed):
        for number in range(num_races):
            url = f"file://{allowed}/{RACES[number % len(RACES)]}"
            try:
                seen[_read(files, url, inside)] += 1
            except TimeoutError:
                failures.append(f"{url[-40:]}: waited {HANG_S} s")
                break
    if num_races >= 1000 and not (seen["inside"] and seen["refused"]):
        failures.append("the races were none")
    return seen


def _read(files: LocalFiles, url: str, inside: bytes) -> str:
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        return "inside" if files.read(url, max_bytes=1 << 20) == inside else "outside"
    except MediaError:
        return "refused"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _swapped(allowed: Path) -> Iterator[None]:
    """The path that is raced for, while a process keeps swapping it."""
    outside = allowed.parent / "outside"
    (allowed / "swap").mkdir()
    for name in RACES:
        shutil.copy(allowed / "a.png", allowed / name)
    signal.signal(signal.SIGALRM, _wake)
    script = SWAPPER.format(parent=os.getpid())
    swapper = subprocess.Popen([sys.executable, "-c", script, str(allowed), str(outside)])
    try:
        yield
    finally:
        swapper.kill()
        swapper.wait()


def _wake(*_: object) -> None:
    raise TimeoutError


def _png(seed: int) -> bytes:
    return base64.b64decode(image(seed).partition(",")[2])
