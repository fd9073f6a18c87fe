"""Two models behind one ingress: each request reaches the deployment of its own, and answers as by itself."""

import numpy as np

from tests.conftest import LiveServer, from_base64
from tests.deploy.ray.cluster import Cluster


def vector(cluster: Cluster, **more: object) -> np.ndarray:
    body = {"input": "a red bicycle", "encoding_format": "base64", **more}
    return from_base64(cluster.ask(body).json()["data"][0]["embedding"])


def test_a_request_reaches_the_model_that_it_names(cluster: Cluster, plain: LiveServer) -> None:
    tables = {"search": {"model": "builtin"}, "short": {"model": "builtin", "max_tokens": 64}}
    cluster.deploy_models(tables)
    cards = {card["id"]: card for card in cluster.http.get("/v1/models").json()["data"]}
    assert (cards["short"]["max_tokens"], "search" in cards) == (64, True)
    want = plain.vectors({"input": "a red bicycle"})[0]
    for name in tables:
        np.testing.assert_allclose(vector(cluster, model=name), want, rtol=0, atol=1e-6)
    long = {"input": "word " * 100, "truncate": "NONE"}
    assert cluster.http.post("/v1/embeddings", json=long | {"model": "search"}).status_code == 200
    assert cluster.http.post("/v1/embeddings", json=long | {"model": "short"}).status_code == 400
    cluster.deploy()
    assert vector(cluster).tobytes() == vector(cluster, model="builtin").tobytes()
