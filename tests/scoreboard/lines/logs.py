"""Every log of the board, line by line: JSON, and nothing of this machine's inside or of anybody's secrets."""

import contextlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.raw_socket import say
from tests.scoreboard.json_seeds import WORDS, seeds
from tests.scoreboard.leaks import PATH
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.mutant import mutate

SECRET = "sk-never-to-be-seen-in-a-log"
BODY = "these words belong to a client alone"
NASTY = ("\r\n{}", "\x1b[31mred", "\x00", "\u2028", "%s{}", '"}\n{"level":"error"', "x" * 30_000, "../../etc/passwd")

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
KEY = re.compile(r"(?i)bearer |authorization|\bsk-[\w-]{8,}|data:image/|" + BODY)
OPERATORS = {"folder", "config", "exception"}
"""Fields for the operator's eyes, which name folders of the machine: at start, and where the code failed."""


@line(19, "lines of every log above", "JSON; 0 addresses, traces, keys, paths", sizes=(500, 5_000))
def run(size: int, folder: Path) -> Result:
    _provoke(size, folder / "server.log")
    num_lines, failures = 0, []
    for log in sorted(folder.parent.rglob("*.log")):
        for number, text in enumerate(_lines(log), 1):
            num_lines += 1
            if wrong := _wrong_with(text):
                failures.append(f"{log.relative_to(folder.parent)}:{number}: {wrong}: {text[:160]}")
    return Result(num_lines, len(failures), failures[:6])


def _lines(log: Path) -> Iterator[str]:
    with log.open(errors="replace") as file:
        for line in file:
            yield line.rstrip("\n")


def _wrong_with(line: str) -> str:
    """Text that this line should not hold, or nothing."""
    try:
        said: Any = json.loads(line)
    except ValueError:
        return "not JSON"
    if not isinstance(said, dict) or not {"time", "level", "logger", "message"} <= set(said):
        return "not a log line"
    if ADDRESS.search(line):
        return "an address"
    if KEY.search(line):
        return "a key or a body"
    public = json.dumps({name: value for name, value in said.items() if name not in OPERATORS}, ensure_ascii=False)
    if "Traceback" in public:
        return "a traceback out of its field"
    return "a path" if PATH.search(public) else ""


def _provoke(size: int, log: Path) -> None:
    """Do to a server whatever might get into its log."""
    dice, originals = random.Random("logs"), seeds()
    with served(log, "--log-format", "json", "--log-level", "debug") as server:
        for _ in range(size):
            path, raw = dice.choice(originals)
            headers = {"content-type": "application/json", "authorization": f"Bearer {SECRET}"}
            with contextlib.suppress(httpx.HTTPError):
                query = f"?key={SECRET}&x={dice.choice(NASTY[3:5])}"
                server.http.post(path + query, content=mutate(dice, raw, (*WORDS, BODY.encode())), headers=headers)
            nasty = dice.choice(NASTY).encode()
            method = dice.choice((b"GET", b"BREW-%d" % dice.randrange(9), b"TRACE"))
            id_ = b"x-request-id: " + nasty + b"\r\ntraceparent: " + nasty
            say(server, method + b" /" + SECRET.encode() + b" HTTP/1.1\r\nhost: a\r\n" + id_ + b"\r\n\r\n", 2)
        server.http.post("/v1/embeddings", json={"input": BODY}, headers={"authorization": f"Bearer {SECRET}"})
