"""Features as an answer: their bytes in the number format that was asked for, or why there are none."""

import logging
from typing import TYPE_CHECKING

from service.engine.failures import INTERNAL, NO_FIT, failed
from service.engine.waiting import Waiting
from service.ipc.messages import Failure, FeaturesSpec

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

logger = logging.getLogger("cenote.engine")


class FeaturesWriter:
    """Answers requests that want their picture's features and no vector."""

    def __init__(self, runner: "ModelRunner") -> None:
        self._runner = runner

    def row(self, waiting: "Waiting[torch.Tensor]") -> dict[str, bytes] | Failure:
        """Number format to bytes, or the failure of this request alone.

        Raises:
            Exception: the device is lost.
        """
        spec, (features,) = waiting.request.output, waiting.features
        assert isinstance(spec, FeaturesSpec)  # the scheduler answers no other so
        assert features is not None  # and none before it is ready
        try:
            data = self._runner.write_features(features, spec.dtype)
        except Exception:
            logger.exception("features could not be written")
        else:
            message = NO_FIT.format(dtype=spec.dtype)
            return failed(waiting.request, message, "non_finite_embedding") if data is None else {spec.dtype: data}
        self._runner.check_alive()
        return failed(waiting.request, INTERNAL)
