"""Every kind of vector through Ray Serve: the numbers of a plain server, and its limits on what they take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cenote_ray.rows import RowEmbedder
from service.settings.settings import SettingsError
from tests.conftest import LiveServer
from tests.deploy.ray.cluster import Cluster
from tests.deploy.ray.conftest import MAX_ONGOING
from tests.models.hybrid.checkpoints import bge_m3
from tests.models.late.checkpoints import hf_colqwen2 as colqwen2
from tests.models.sparse.checkpoints import splade

TEXTS = ["a red bicycle against a wall", "", "a door with two rooms behind it", "a red bicycle against a wall"]
TYPES = ["float", "int8", "sparse", "sparse_tokens", "multi_float", "multi_ubinary"]


def same(ours: Any, theirs: Any) -> None:
    """Equal in all but the last digits of numbers."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for one, other in zip(ours.values(), theirs.values(), strict=True):
            same(one, other)
    elif isinstance(ours, list) and ours and not isinstance(ours[0], (int, float)):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [colqwen2, lambda folder: splade("bert", folder)], ids=["colqwen2", "splade"])
def test_the_bulk_job_refuses_a_model_without_a_dense_vector(make: Callable[[Path], Path], tmp_path: Path) -> None:
    settings = {"model": str(make(tmp_path / "small")), "threads": "1", "dtype": "float32"}
    with pytest.raises(SettingsError, match="the bulk job has no place"):
        RowEmbedder(settings)


def test_every_kind_is_that_of_a_plain_server(
    cluster: Cluster, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    folders = {"m3": bge_m3(tmp_path / "m3"), "splade": splade("bert", tmp_path / "splade")}
    cluster.deploy_models({name: {"model": str(folder)} for name, folder in folders.items()})
    for name, types in {"m3": TYPES, "splade": ["sparse", "sparse_tokens"]}.items():
        plain = start_server("--model", str(folders[name]), "--served-name", name).wait_until_ready()
        body = {"texts": TEXTS, "embedding_types": types, "model": name}
        ours, theirs = cluster.ask(body, "/v2/embed").json(), plain.ask("/v2/embed", body).json()
        assert list(ours["embeddings"]) == list(theirs["embeddings"])
        same(ours["embeddings"], theirs["embeddings"])
        cards = [server.http.get(f"/v1/models/{name}").json() for server in (cluster, plain)]
        assert [card["outputs"] for card in cards] == [plain.http.get("/v1/models").json()["data"][0]["outputs"]] * 2
        assert cards[0]["sparse_dimensions"] == cards[1]["sparse_dimensions"]
        wrong = body | {"texts": ["x " * 900, "a"], "truncate": "NONE", "on_error": "per_item"}
        ours, theirs = cluster.ask(wrong, "/v2/embed").json(), plain.ask("/v2/embed", wrong).json()
        same(ours["embeddings"], theirs["embeddings"])
        assert [(one["index"], one["code"]) for one in ours["errors"]] == [(0, theirs["errors"][0]["code"])]
        plain.stop()
    cluster.deploy(max_ongoing_requests=MAX_ONGOING)
