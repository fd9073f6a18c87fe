"""Python runs this at start where its folder is on the path: a server's processes wait longer for shared tiers.

With the product's own deadlines, a test machine that stands still for a moment would turn a hit into a miss.
"""

from typing import Any

from after_import import after_import

PATIENCE_S = 30.0
HASTY = (
    "service.engine.shared_tiers.look_ups",
    "service.engine.shared_tiers.valkey",
    "service.front.engine_client.vector_store",
)


def _be_patient(module: Any) -> None:
    assert module.TIMEOUT_S < PATIENCE_S  # else it has another name by now
    module.TIMEOUT_S = PATIENCE_S


after_import(dict.fromkeys(HASTY, _be_patient))
