"""Each model of the table after a server of its own."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import LiveServer
from tests.models.over_http.models import MODELS
from tests.models.over_http.running import Running

ALL = [pytest.param(name, marks=[pytest.mark.slow] if model.is_slow else []) for name, model in MODELS.items()]


@pytest.fixture(scope="module", params=ALL)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]
) -> Iterator[Running]:
    made = Running(MODELS[request.param], tmp_path_factory.mktemp("models"), start_server)
    yield made
    made.server.stop()
