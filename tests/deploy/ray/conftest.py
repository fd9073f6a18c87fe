"""One cluster for all tests here, with two embedders of the built-in model; and a plain server to hold it against."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import LiveServer
from tests.deploy.ray.cluster import Cluster, running_cluster

MAX_ONGOING = 8
"""Calls that an embedder takes at once, here: few, so that a crowd makes one full."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two embedders behind one ingress, as `deploy/ray/serve.yaml` says."""
    with running_cluster(tmp_path_factory.mktemp("ray")) as started:
        started.deploy(max_ongoing_requests=MAX_ONGOING)
        yield started


@pytest.fixture(scope="session")
def plain(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """`cenote serve` with the same settings, and no Ray."""
    return start_for_all("--model", "builtin").wait_until_ready()
