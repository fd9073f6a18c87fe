"""ColQwen2.5 and ColQwen3 as they are released, through a live server: vectors and scores."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part
from tests.models.late_interaction.reference import EngineReference
from tests.models.late_pages import colqwen3_checkpoints, engine_checkpoints
from tests.models.late_pages.served_vectors import difference
from tests.models.vlm.images import EXACT, SMALL, TALL, image

pytestmark = pytest.mark.slow

QUERIES = ["Which lighthouse stands on a cliff?", "", "Wo steht der Leuchtturm?"]
PAGES = [SMALL, TALL, EXACT]


class Release(NamedTuple):
    """A folder that is served, its reference, and the name of its family's profile."""

    folder: Path
    reference: EngineReference
    profile: str


def colqwen2_5(folder: Path) -> Release:
    """An adapter over its base."""
    base = engine_checkpoints.colqwen2_5(folder / "colqwen2.5-base")
    found = engine_checkpoints.adapter(folder / "colqwen2.5-v0.2", base)
    return Release(found, EngineReference(base, found), "colqwen2.5")


def colqwen3(folder: Path) -> Release:
    """TomoroAI's; its queries have no prefix."""
    reference = EngineReference(colqwen3_checkpoints.colqwen3(folder / "same weights"))
    reference.query_prefix = ""
    return Release(colqwen3_checkpoints.tomoro(folder / "tomoro-colqwen3-embed-4b"), reference, "colqwen3")


@pytest.fixture(scope="module", params=[colqwen2_5, colqwen3])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    made: Release = request.param(tmp_path_factory.mktemp("releases"))
    return made


def served(release: Release, start_server: Callable[..., LiveServer]) -> LiveServer:
    place = release.folder.parent
    flags = ("--model", str(release.folder), "--disk-cache", str(place / "disk"))
    return start_server(*flags, env={"XDG_CACHE_HOME": str(place / "cache")}).wait_until_ready()


@pytest.fixture(scope="module")
def late(release: Release, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = served(release, start_server)
    yield server
    server.stop()


def test_queries_and_pages_have_the_references_vectors(late: LiveServer, release: Release) -> None:
    pages = [data_uri(image_bytes(page)) for page in PAGES]
    found = [late.ask("/v2/embed", body).json()["embeddings"] for body in ({"texts": QUERIES}, {"images": pages})]
    got = [np.array(one, "<f4") for kind in found for one in kind["multi_float"]]
    want = release.reference.queries(QUERIES) + release.reference.pages(PAGES)
    assert difference(got, want) <= TOLERANCE


def test_a_query_scores_pages_by_maxsim(late: LiveServer, release: Release) -> None:
    documents = [{"content": [image_part(data_uri(image_bytes(page)))]} for page in PAGES]
    wanted = release.reference.scores(release.reference.queries(QUERIES), release.reference.pages(PAGES))
    for query, row in zip(QUERIES, wanted, strict=True):
        results = late.ask("/v1/rerank", {"query": query, "documents": documents}).json()["results"]
        assert [one["index"] for one in results] == list(np.argsort(-row, kind="stable"))
        np.testing.assert_allclose([one["relevance_score"] for one in results], -np.sort(-row), rtol=0, atol=1e-4)


def test_the_models_card_says_what_it_is(late: LiveServer, release: Release) -> None:
    card = late.http.get("/v1/models").json()["data"][0]
    assert card["id"] == release.folder.name
    assert (card["prompt_format"], card["pooling"], card["scoring"]) == (release.profile, "multi_vector", "max_sim")
    assert card["modalities"] == ["text", "image"]


def test_a_video_is_refused_by_what_the_model_reads(late: LiveServer) -> None:
    part = {"type": "video_frames", "frames": [{"url": data_uri(image_bytes(SMALL))}] * 2}
    answer = late.http.post("/v2/embed", json={"inputs": [{"content": [part]}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported_modality")


def test_a_page_that_was_seen_before_a_restart_is_not_encoded_again(
    late: LiveServer, release: Release, start_server: Callable[..., LiveServer]
) -> None:
    """The last of a release, since its server is restarted."""
    fresh, encodes = image(31, 70, 190), list[float]()
    page = {"images": [data_uri(image_bytes(fresh))]}
    for restarts in (False, True):
        if restarts:
            late.stop()
            late = served(release, start_server)
        before = late.metric("cenote_vision_encodes_total")
        got = np.array(late.ask("/v2/embed", page).json()["embeddings"]["multi_float"][0], "<f4")
        assert difference([got], [release.reference(fresh)]) <= TOLERANCE
        encodes.append(late.metric("cenote_vision_encodes_total") - before)
    late.stop()
    assert encodes == [1, 0]
