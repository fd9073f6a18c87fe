"""The engine's loop, without a process of its own."""

import pytest

from tests.service.engine.loop_rig import LoopRig, make_scheduler


@pytest.fixture
def engine() -> LoopRig:
    return LoopRig(make_scheduler())
