"""Makes the features of media, one image at a time, and writes them as answers; a failure stays with its media."""

import logging
import time
from typing import TYPE_CHECKING, Literal

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.isolation import INTERNAL, NO_FIT, Quarantine, failed, is_out_of_memory
from service.engine.scheduling.waiting import Encode, Waiting
from service.ipc.announcements import Announce
from service.ipc.messages import Failure
from service.outputs.features import features_dtype

if TYPE_CHECKING:
    import torch

    from service.engine.execution.runner import ModelRunner

logger = logging.getLogger("cenote.engine")

NoFeatures = Literal["internal_error", "out_of_memory"]


class MediaEncoder:
    """Pixels, samples or sent features in; features in the model's format, or their bytes, out."""

    def __init__(self, runner: "ModelRunner", announce: Announce, cache: "EncoderCache[torch.Tensor]") -> None:
        """Encode by `runner`; `cache` is cleared where memory is short."""
        self._runner = runner
        self._announce = announce
        self._cache = cache
        self._quarantine = Quarantine()

    def features(self, encode: "Encode[torch.Tensor]") -> "torch.Tensor | NoFeatures":
        """Features of media, or the code of their failure. A lack of memory is tried again with all that there is."""
        if self._quarantine.until_s and self._quarantine.holds(encode.media.key, time.monotonic()):
            return "internal_error"
        found = self._try(encode)
        if isinstance(found, str) and found == "out_of_memory":
            self._cache.clear()
            self._runner.free_memory()
            found = self._try(encode)
        if isinstance(found, str) and found == "internal_error":
            self._quarantine.add(encode.media.key, time.monotonic())
        return found

    def row(self, waiting: "Waiting[torch.Tensor]") -> dict[str, bytes] | Failure:
        """Features that a request asks for: number format to bytes, or the failure of this request alone."""
        dtype, (features,) = features_dtype(waiting.request.asks), waiting.features
        assert features is not None  # the scheduler makes no FeaturesStep before they are there
        try:
            data = self._runner.write_features(features, dtype)
        except Exception:
            logger.exception("features could not be written")
        else:
            message = NO_FIT.format(dtype=dtype)
            return failed(waiting.request, message, "non_finite_embedding") if data is None else {dtype: data}
        self._runner.check_alive()
        return failed(waiting.request, INTERNAL)

    def _try(self, encode: "Encode[torch.Tensor]") -> "torch.Tensor | NoFeatures":
        assert encode.slot is not None  # an EncodeStep has no other
        ids = list({one.request.id for waiting, _ in encode.waiters for one in (waiting, *waiting.joined)})
        self._announce("encode", encode.media.num_tokens, ids)
        try:
            return self._runner.encode(encode.media, encode.slot)
        except Exception as error:
            is_short = is_out_of_memory(error)
            logger.exception("an image could not be encoded")
        self._runner.check_alive()
        return "out_of_memory" if is_short else "internal_error"
