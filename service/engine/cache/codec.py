"""Features between the device and the bytes that shared tiers keep. The only part of those tiers that knows torch.

Runs in the threads of the shared tiers, but for `hold`.
"""

import hashlib
from collections.abc import Callable
from typing import cast

import torch

from service.engine.cache.blob import pack, stored_name, unpack
from service.ipc.messages import Media
from service.media.tensor_dtype import TensorDtype


class FeaturesCodec:
    """Packs and unpacks the features of one vision tower on one device."""

    def __init__(self, namespace: bytes, dtype: torch.dtype, width: int, device: torch.device) -> None:
        """Features of `width` numbers a row; `namespace` is the tower's, from `tower_digest`."""
        self._namespace = namespace
        self._dtype = dtype
        self._name: TensorDtype = cast(TensorDtype, str(dtype).removeprefix("torch."))
        self._width = width
        self._device = device

    def name(self, key: bytes) -> str:
        """Under which name the features of a picture are stored."""
        return stored_name(self._namespace, key)

    def hold(self, key: bytes, features: torch.Tensor) -> Callable[[], bytes]:
        """What gives the features' bytes in another thread, once the device has computed them.

        Args:
            key: content key of the picture.
            features: `[tokens, width]`; nobody writes to them again.
        """
        ready = None
        if features.is_cuda:
            ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            ready.record(torch.cuda.current_stream(features.device))

        def blob() -> bytes:
            if ready is not None:
                ready.synchronize()
            rows = features.contiguous().cpu().view(torch.uint8).numpy().data.cast("B")
            return pack(self.name(key), self._name, (features.shape[0], features.shape[1]), rows)

        return blob

    def read(self, media: Media, blob: bytes) -> torch.Tensor | None:
        """The features of a picture on the device; None when the bytes are not exactly those."""
        shape = (media.num_tokens, self._width)
        rows = unpack(self.name(media.key), self._name, shape, blob)
        if rows is None:
            return None
        features = torch.frombuffer(bytearray(rows), dtype=self._dtype).reshape(shape).to(self._device)
        if features.is_cuda:
            torch.cuda.current_stream(features.device).synchronize()  # whole, on whatever stream it is used next
        return features


def tower_digest(tower: torch.nn.Module, config_json: str) -> bytes:
    """What identifies a vision tower: SHA-256 over its configuration, and each weight's name, format, shape and bytes.

    A fingerprint of file headers does not tell a fine-tuned checkpoint from its origin, and knows nothing of the format
    that the weights were loaded in. Within one process neither matters; between processes both do.

    Args:
        tower: its module.
        config_json: its configuration.

    Returns:
        32 bytes.
    """
    digest = hashlib.sha256(config_json.encode())
    for name, weight in sorted(tower.state_dict().items()):
        digest.update(f"\0{name} {weight.dtype} {tuple(weight.shape)}\0".encode())
        digest.update(weight.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()
