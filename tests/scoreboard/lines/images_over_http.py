"""Line 2: broken images over HTTP, on every route that takes one, decoded in processes that can be killed.

An image that is broken for certain must be refused. One that is only changed may still be an image, and is answered
then: whether it is, is line 1's to say.
"""

import base64
import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from tests.builders import image_bytes
from tests.conftest import LiveServer, image, image_part
from tests.huge_images import BOMBS
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.image_seeds import noise, seeds
from tests.scoreboard.lines.mutants.mutation import mutate
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.lines.scored import FORMS, scored

NUM_CLIENTS = 8
REFUSED = (400, 413, 422)
CODES = ("media_undecodable", "media_too_large", "media_source_refused", "invalid_request")
LEAK = re.compile(r"0x[0-9a-f]{6}|Traceback|\.py|PIL|site-packages|/usr/|/home/|<class")
FLAGS = ("--decode-isolation", "processes", "--decode-workers", "2")
Case = tuple[str, dict[str, Any], bool]
"""Route, body, and whether it must be refused."""


def cases() -> Iterator[Case]:
    """Without end, and the same in every run."""
    draw = random.Random(2)
    while True:
        is_certain = draw.random() < 0.4
        file = _certain(draw) if is_certain else mutate(draw, draw.choice(seeds()), draw.choice(seeds()))
        kind = draw.choice(("png", "jpeg", "webp", "x-unknown"))
        source = f"data:image/{kind};base64,{base64.b64encode(file).decode()}"
        if draw.random() < 0.05:
            is_certain, source = True, _no_base64(draw, source)
        yield (*_body(draw, source), is_certain)


def _certain(draw: random.Random) -> bytes:
    """A file that no decoder may take."""
    match draw.randrange(5):
        case 0:
            file = image_bytes(noise("RGB", draw.randrange(100)), draw.choice(("PNG", "JPEG", "WEBP", "GIF", "BMP")))
            return file[: draw.randrange(len(file) * 9 // 10)]
        case 1:
            return draw.choice(list(BOMBS.values()))(draw.randrange(17_000, 65_000), draw.randrange(17_000, 65_000))
        case 2:
            return bytes([draw.choice(b"\x00ZI%<8")]) + draw.randbytes(draw.randrange(400))
        case 3:
            return image_bytes(noise("RGB"), draw.choice(("TIFF", "PPM", "TGA", "PCX", "ICO", "SGI", "JPEG2000")))
        case _:
            name = draw.choice(("png", "gif", "bmp", "jpeg"))
            return BOMBS[name](draw.randrange(1, 40), draw.randrange(8_500, 16_000))


def _no_base64(draw: random.Random, source: str) -> str:
    place = draw.randrange(source.index(",") + 1, len(source) + 1)
    damaged = source[:place] + "*" + source[place:]
    return draw.choice((damaged, source + "=", "file:///etc/passwd", "data:,x", "ftp://[::1]/"))


def _body(draw: random.Random, source: str) -> tuple[str, dict[str, Any]]:
    more = draw.choice(({}, {}, {"image_background": "#102030"}))
    match draw.randrange(7):
        case 0:
            return "/v1/embeddings", {"inputs": [{"content": [image_part(source)]}], **more}
        case 1:
            return "/v1/embeddings", {"messages": [{"role": "user", "content": [image_part(source)]}], **more}
        case 2:
            return "/v2/embed", {"images": [source], **more}
        case 3:
            return "/v1/embed", {"images": [source], **more}
        case 4:
            return "/v1/image_embeds", {"images": [image_part(source)], **more}
        case 5:
            return scored(draw.choice(FORMS), "a query", ["a text", {"image": source}], **more)
        case _:
            return scored(draw.choice(FORMS), {"content": [image_part(source)]}, ["a text"], **more)


@line(
    2,
    "broken images over HTTP, on every route that takes one, decoded in processes",
    "only 400, 413 and 422; 0 x 5xx; no internals in answers",
    sizes=(5_000, 50_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Post `size` images; in the end the server must still answer what it answered in the beginning."""
    with served(folder / "server.log", *FLAGS) as server:
        before = _healthy(server)
        with ThreadPoolExecutor(NUM_CLIENTS) as pool:
            ends = list(pool.map(lambda case: _posted(server, case), islice(cases(), size)))
        failures = [failure for _, failure in ends if failure]
        if _healthy(server) != before:
            failures.append("a good image is answered otherwise than before")
        if code := server.stop():
            failures.append(f"the server ended with {code}")
    statuses = Counter(status for status, _ in ends)
    figures = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    return Result(len(ends), len(failures), [*failures[:6], figures])


def _posted(server: LiveServer, case: Case) -> tuple[int, str]:
    route, body, must_refuse = case
    try:
        answer = server.http.post(route, json=body)
    except httpx.HTTPError as error:
        return 0, f"{route}: {type(error).__name__}"
    status = answer.status_code
    if status == 200:
        return status, f"{route}: a file that is no image was answered" if must_refuse else ""
    code = answer.json().get("error", {}).get("code")
    if status not in REFUSED or code not in CODES or LEAK.search(answer.text):
        return status, f"{route}: {status} {answer.text[:200]}"
    return status, ""


def _healthy(server: LiveServer) -> bytes:
    return server.vectors({"inputs": [{"content": [image_part(image(7))]}]}).tobytes()
