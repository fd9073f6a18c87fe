"""Features as a file or a value that other processes read: safetensors, with a checksum over all that must agree.

In: rows and what they stand for. Out: bytes; and back, or None for whatever is not exactly that. Knows no torch, no
disk and no server. The checksum finds damage and mistakes, not forgery: who may write to a tier is trusted.
"""

import hashlib

from service.errors import MediaError
from service.media.blame import Blame
from service.media.safetensors_file import read_safetensors, write_safetensors
from service.media.tensor import Tensor
from service.media.tensor_dtype import TensorDtype

VERSION = 1
"""Changes whenever the same bytes would mean other features."""


def stored_name(namespace: bytes, key: bytes) -> str:
    """Under which name features are stored: SHA-256 over version, namespace and content key, 64 hexadecimal digits.

    Args:
        namespace: the vision tower by its weights and their number format, 32 bytes.
        key: level-1 content key, 32 bytes: pixels, size, preprocessing and tenant.
    """
    return hashlib.sha256(b"cenote features %d\0" % VERSION + namespace + key).hexdigest()


def pack(name: str, dtype: TensorDtype, shape: tuple[int, int], data: memoryview) -> bytes:
    """A safetensors file of features.

    Args:
        name: what it will be stored under.
        dtype: number format of the rows.
        shape: `[tokens, hidden · (1 + deepstack)]`.
        data: the rows, little-endian.
    """
    return write_safetensors(Tensor(dtype, shape, data, _checksum(name, dtype, shape, data)))


def unpack(name: str, dtype: TensorDtype, shape: tuple[int, int], blob: bytes) -> memoryview | None:
    """The rows of what `pack` gave for the same name, format and shape; None for anything else."""
    try:
        tensor = read_safetensors(blob, Blame())
    except MediaError:
        return None
    if tensor.dtype != dtype or tensor.shape != shape or tensor.origin != _checksum(name, dtype, shape, tensor.data):
        return None
    return tensor.data


def _checksum(name: str, dtype: TensorDtype, shape: tuple[int, int], data: memoryview) -> str:
    digest = hashlib.sha256(f"{VERSION} {name} {dtype} {shape[0]} {shape[1]}\n".encode())
    digest.update(data)
    return digest.hexdigest()
