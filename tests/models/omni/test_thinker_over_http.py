"""Qwen2.5-Omni's thinker after a live server: all kinds on both routes, and each encoded once under many prompts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer
from tests.models.omni.media import WIDE, Film, drawn, sound
from tests.models.omni.test_over_http import ENCODES, HITS, V1, V2, body
from tests.models.omni.test_thinker import CASES, SIDE, Both, modular
from tests.models.omni.thinker import SYSTEM, make_thinker

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]) -> tuple[Both, LiveServer]:
    place: Path = tmp_path_factory.mktemp("thinker")
    folder = modular(make_thinker(place / "alone"), place / "thinker-small")
    return Both(folder), start_server("--model", str(folder)).wait_until_ready()


def test_items_of_all_kinds_have_the_references_vectors_on_both_routes(live: tuple[Both, LiveServer]) -> None:
    both, server = live
    cases = [case for case in CASES.values() if case != [""]]
    want = both.theirs(*cases)
    assert np.abs(server.vectors(body(*cases)) - want).max() <= TOLERANCE
    answer = server.ask(V2, body(*cases, by_url=True, embedding_types=["float"])).json()
    assert np.abs(np.array(answer["embeddings"]["float"]) - want).max() <= TOLERANCE


def test_a_medium_under_many_prompts_is_encoded_once(live: tuple[Both, LiveServer]) -> None:
    both, server = live
    film = Film((drawn(SIDE, SIDE, 8), drawn(SIDE, SIDE, 9)))
    media: list[list[Any]] = [[drawn(111, 77, 7)], [sound(1.3, 370)], [film]]
    before = server.metric(ENCODES), server.metric(HITS)
    for prefix in ("one", "two", "three"):
        got = server.vectors(body(*media, instruction=prefix))
        assert np.abs(got - both.theirs(*media, head=SYSTEM.format(prefix))).max() <= TOLERANCE
    assert (server.metric(ENCODES) - before[0], server.metric(HITS) - before[1]) == (3, 6)
    usage = server.ask(V1, body(*media, instruction="again")).json()["usage"]
    assert (usage["encoder_cache_hits"], usage["encoder_cache_misses"]) == (3, 0)
    counted = [usage["prompt_tokens_details"][f"{kind}_tokens"] for kind in ("image", "video", "audio")]
    assert counted == [4 * 3, 144, 32]


def test_audio_without_a_token_is_refused(live: tuple[Both, LiveServer]) -> None:
    answer = live[1].http.post(V1, json=body(["a"], [sound(320 / 16_000), WIDE]))
    assert answer.status_code == 422
    assert "320 samples; more than 320 are needed at 16000 Hz" in answer.json()["error"]["message"]
