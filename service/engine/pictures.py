"""Features of one picture, or why there are none. Keeps pictures that failed by themselves out of the tower."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from service.engine.out_of_memory import is_out_of_memory
from service.engine.quarantine import Quarantine
from service.engine.scheduler import Encode

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

logger = logging.getLogger("cenote.engine")

NoFeatures = Literal["internal_error", "out_of_memory"]


class PictureEncoder:
    """Pixels or sent features in, features in the model's format out, one picture at a time."""

    def __init__(
        self,
        runner: "ModelRunner",
        announce: "Callable[[Encode[torch.Tensor]], None]",
        drop_cached: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._announce = announce
        self._drop_cached = drop_cached
        self._quarantine = Quarantine()

    def features(self, encode: "Encode[torch.Tensor]") -> "torch.Tensor | NoFeatures":
        """Features of a picture, or the code of its failure. A lack of memory is tried again with all there is.

        Raises:
            Exception: the device is lost.
        """
        if self._quarantine.holds(encode.media.key, time.monotonic()):
            return "internal_error"
        found = self._try(encode)
        if isinstance(found, str) and found == "out_of_memory":
            self._drop_cached()
            self._runner.free_memory()
            found = self._try(encode)
        if isinstance(found, str) and found == "internal_error":
            self._quarantine.add(encode.media.key, time.monotonic())
        return found

    def _try(self, encode: "Encode[torch.Tensor]") -> "torch.Tensor | NoFeatures":
        assert encode.slot is not None  # the scheduler takes no other
        self._announce(encode)
        try:
            if encode.media.dtype is not None:
                return self._runner.read_features(encode.slot, encode.media)
            if encode.media.num_frames == 0:
                return self._runner.hear(encode.slot)
            return self._runner.encode(encode.slot, encode.media.grid_thw)
        except Exception as error:
            is_short = is_out_of_memory(error)
            logger.exception("a picture could not be encoded")
        self._runner.check_alive()
        return "out_of_memory" if is_short else "internal_error"
