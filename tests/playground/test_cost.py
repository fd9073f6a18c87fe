"""The slider and the formats: what is shown is what the server gives at that size in that format."""

from typing import Any

import numpy as np
import pytest

from tests.playground.truth import bit_cosines, cosines, kept
from tests.playground.visit import Visit

SIZES = (32, 64, 128, 256)


def asked_bodies(visit: Visit) -> list[dict[str, Any]]:
    """The bodies of `/v1/embeddings` for what is on the page, as its own module writes them."""
    return [
        call["body"]
        for call in visit.page.evaluate(
            """async () => { const [{ inputs, readyItems }, { planAsks, callOf }] =
            await Promise.all([import("/playground/items.js"), import("/playground/requests.js")]);
            return planAsks(readyItems(), inputs.instructions, inputs.textsOnce)
              .map(ask => callOf("builtin", ask, null, "float")); }"""
        )
    ]


def of_the_server(visit: Visit, format_: str, size: int) -> np.ndarray:
    """Vectors in a format, by `/v2/embed`."""
    rows = []
    for body in asked_bodies(visit):
        body = {("texts" if name == "input" else name): value for name, value in body.items()}
        answer = visit.server.ask("/v2/embed", body | {"output_dimension": size, "embedding_types": [format_]}).json()
        rows += answer["embeddings"][format_]
    return np.array(rows)


def similarities(visit: Visit, format_: str, size: int) -> np.ndarray:
    vectors = of_the_server(visit, format_, size)
    return bit_cosines(vectors) if format_ == "ubinary" else cosines(vectors)


def test_every_size_in_every_format_shows_the_servers_own_similarities(visit: Visit) -> None:
    visit.try_samples()
    truth = similarities(visit, "float", 256)
    for format_ in ("float", "int8", "ubinary"):
        for size in SIZES:
            visit.choose(format_, size)
            cheap = similarities(visit, format_, size)
            assert np.abs(visit.matrix() - cheap).max() < 6e-5, (format_, size)
            nearest, recall, tau = kept(truth, cheap)
            shown = visit.figures()
            assert shown[1] == f"{int(nearest * 100 + 0.5)} %"
            assert shown[2] == f"{int(recall * 100 + 0.5)} %"
            assert float(shown[3]) == pytest.approx(tau, abs=6e-4), (format_, size)


def test_the_chart_has_a_point_for_every_size_and_format(visit: Visit) -> None:
    visit.try_samples()
    assert visit.page.locator("#chart .curve circle").count() == 2 * len(SIZES), "int8 is asked for when it is chosen"
    visit.choose("int8", 64)
    visit.page.wait_for_function("() => document.querySelectorAll('#chart .curve circle').length === 12")
    rows = visit.page.locator("#chart tbody tr")
    assert rows.count() == 3 * len(SIZES)
    told = visit.page.get_by_role("img", name="Order kept").get_attribute("aria-label") or ""
    assert "64 int8" in told


def test_sizes_are_those_of_the_plan(visit: Visit) -> None:
    offered = "(m, card) => m.offeredSizes(card)"
    card = visit.server.http.get("/v1/models/builtin").json()
    assert visit.run_module("sizes.js", offered, card) == list(SIZES)
    free = card | {"matryoshka_dimensions": None, "dimensions": 2048, "min_dimensions": 64}
    found = visit.run_module("sizes.js", offered, free)
    assert found == [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
    assert visit.run_module("sizes.js", offered, card | {"matryoshka_dimensions": [300, 12], "dimensions": 300}) == [
        300
    ]
