"""Features between the device and the bytes that shared tiers keep: safetensors, with a checksum that must agree.

The only part of those tiers that knows torch. Runs in their threads, but for `hold`. The checksum finds damage and
mistakes, not forgery: who may write to a tier is trusted.
"""

import hashlib
from collections.abc import Callable
from typing import cast

import torch

from service.errors import MediaError
from service.ipc.messages import Media
from service.media.error_location import ErrorLocation
from service.media.features.safetensors_file import read_safetensors, write_safetensors
from service.media.features.tensor import Tensor
from service.media.item import TensorDtype

VERSION = 1
"""Changes whenever the same bytes would mean other features."""


def stored_name(namespace: bytes, key: bytes) -> str:
    """The name that features are stored under: SHA-256 over version, namespace and content key, 64 hexadecimal digits.

    Args:
        namespace: the vision tower by its weights and their number format, 32 bytes.
        key: level-1 content key, 32 bytes: pixels, size, preprocessing and tenant.
    """
    return hashlib.sha256(b"cenote features %d\0" % VERSION + namespace + key).hexdigest()


def pack(name: str, dtype: TensorDtype, shape: tuple[int, int], data: memoryview) -> bytes:
    """A safetensors file of features, `[tokens, hidden · (1 + deepstack)]`, little-endian, stored under `name`."""
    return write_safetensors(Tensor(dtype, shape, data, _checksum(name, dtype, shape, data)))


def unpack(name: str, dtype: TensorDtype, shape: tuple[int, int], blob: bytes) -> memoryview | None:
    """The rows of what `pack` gave for the same name, format and shape; None for anything else."""
    try:
        tensor = read_safetensors(blob, ErrorLocation())
    except MediaError:
        return None
    if tensor.dtype != dtype or tensor.shape != shape or tensor.origin != _checksum(name, dtype, shape, tensor.data):
        return None
    return tensor.data


def _checksum(name: str, dtype: TensorDtype, shape: tuple[int, int], data: memoryview) -> str:
    digest = hashlib.sha256(f"{VERSION} {name} {dtype} {shape[0]} {shape[1]}\n".encode())
    digest.update(data)
    return digest.hexdigest()


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
        """The name that the features of an image are stored under."""
        return stored_name(self._namespace, key)

    def hold(self, key: bytes, features: torch.Tensor) -> Callable[[], bytes]:
        """A function that gives the features' bytes in another thread, once the device has computed them.

        `features` are `[tokens, width]` and never written to again.
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
        """The features of an image on the device; None when the bytes are not exactly those."""
        shape = (media.num_tokens, self._width)
        rows = unpack(self.name(media.key), self._name, shape, blob)
        if rows is None:
            return None
        features = torch.frombuffer(bytearray(rows), dtype=self._dtype).reshape(shape).to(self._device)
        if features.is_cuda:
            torch.cuda.current_stream(features.device).synchronize()  # whole, on whatever stream it is used next
        return features


def tower_digest(tower: torch.nn.Module, config_json: str) -> bytes:
    """A vision tower's identity: SHA-256 over its configuration, and each weight's name, format, shape and bytes.

    A fingerprint of file headers does not tell a fine-tuned checkpoint from its origin, and knows nothing of the format
    that the weights were loaded in. Within one process neither matters; between processes both do.
    """
    digest = hashlib.sha256(config_json.encode())
    for name, weight in sorted(tower.state_dict().items()):
        digest.update(f"\0{name} {weight.dtype} {tuple(weight.shape)}\0".encode())
        digest.update(weight.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()
