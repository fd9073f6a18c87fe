"""safetensors files of exactly one tensor, read and written.

Read by ourselves and not by the `safetensors` package. The package's parser is safe, but it also takes what features
never need and what costs: headers of megabytes, a hundred thousand tensors, shapes of as many axes, keys given
twice, BOOL and 4-bit numbers. The format is eight bytes of length, JSON, bytes; stricter is shorter.
Knows no model: what the tensor's shape should be is for `features`.

Source: the format section of the safetensors README; docs/notes/security.md.
"""

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn

from service.media.error_location import ErrorLocation
from service.media.features.tensor import MAX_AXES, MAX_SIZE, Tensor, shown
from service.media.item import ITEM_BYTES, TensorDtype

MAX_HEADER_BYTES = 1 << 16
NAME = "image_embeds"
"""Name of the one tensor."""
ORIGIN = "cenote.origin"
"""Under which name the metadata says what made the tensor."""
GRIDS = "cenote.grid"
"""Likewise of its images' grids."""

_DTYPES: Mapping[str, TensorDtype] = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_CODES: Mapping[TensorDtype, str] = {dtype: code for code, dtype in _DTYPES.items()}
_OTHER_DTYPES = frozenset(
    ("F64", "F8_E4M3", "F8_E5M2", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "C64")
)
_LENGTH_BYTES = 8
_ALIGN = 8


def looks_like_safetensors(data: bytes) -> bool:
    """Return whether a file starts like one: a length, and the first brace of the header."""
    return data[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def read_safetensors(data: bytes, location: ErrorLocation) -> Tensor:
    """Read the one tensor of a file."""
    num_header_bytes = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if num_header_bytes > MAX_HEADER_BYTES:
        _refuse(f"a header of {num_header_bytes} bytes; at most {MAX_HEADER_BYTES} are accepted", location)
    start = _LENGTH_BYTES + num_header_bytes
    if start > len(data):
        _refuse(f"{len(data)} bytes, and its header alone needs {start}: it is cut short", location)
    header = _parse(data[_LENGTH_BYTES:start], location)
    metadata = _metadata(header, location)
    entry = _only_entry(header, location)
    dtype, shape = _dtype(entry["dtype"], location), _shape(entry["shape"], location)
    _check_length(dtype, shape, entry["data_offsets"], len(data) - start, location)
    return Tensor(dtype, shape, memoryview(data)[start:], metadata.get(ORIGIN), metadata.get(GRIDS))


def write_safetensors(tensor: Tensor) -> bytes:
    """Write a file of one tensor."""
    return safetensors_head(tensor) + tensor.data


def safetensors_head(tensor: Tensor) -> bytes:
    """Build the header of a file of one tensor; the numbers begin at a multiple of 8."""
    offsets = [0, len(tensor.data)]
    entry = {"dtype": _CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
    said = {name: text for name, text in ((ORIGIN, tensor.origin), (GRIDS, tensor.grids)) if text is not None}
    metadata = {"__metadata__": said} if said else {}
    header = json.dumps(metadata | {NAME: entry}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _ALIGN)
    return len(header).to_bytes(_LENGTH_BYTES, "little") + header


def _parse(header: bytes, location: ErrorLocation) -> dict[str, Any]:
    try:
        parsed = json.loads(header.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        _refuse("a header that is not JSON, or names a key twice", location)
    if not isinstance(parsed, dict):
        _refuse("a header that is not a JSON object", location)
    return parsed


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _metadata(header: dict[str, Any], location: ErrorLocation) -> dict[str, str]:
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        _refuse("a `__metadata__` that is not an object of strings", location)
    return metadata


def _only_entry(header: dict[str, Any], location: ErrorLocation) -> dict[str, Any]:
    if len(header) != 1:
        _refuse(f"{len(header)} tensors; exactly one is accepted", location)
    ((name, entry),) = header.items()
    if name != NAME:
        _refuse(f"a tensor of another name; `{NAME}` is accepted", location)
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        _refuse("an entry that has not exactly `dtype`, `shape` and `data_offsets`", location)
    return entry


def _dtype(code: object, location: ErrorLocation) -> TensorDtype:
    if isinstance(code, str) and code in _DTYPES:
        return _DTYPES[code]
    got = code if isinstance(code, str) and code in _OTHER_DTYPES else "another"
    return _refuse(f"the dtype {got}; accepted are F32, F16 and BF16", location)


def _shape(shape: object, location: ErrorLocation) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= MAX_SIZE for size in shape):
        _refuse("a shape that is not a list of sizes", location)
    if len(shape) > MAX_AXES:
        _refuse(f"a shape of {len(shape)} axes; two are needed", location)
    return tuple(shape)


def _check_length(
    dtype: TensorDtype, shape: tuple[int, ...], offsets: object, num_bytes: int, location: ErrorLocation
) -> None:
    num_needed = prod(shape) * ITEM_BYTES[dtype]
    if num_needed != num_bytes:
        _refuse(f"{num_bytes} bytes of numbers; the shape {shown(shape)} in {dtype} needs {num_needed}", location)
    if not isinstance(offsets, list) or [*map(type, offsets)] != [int, int] or offsets != [0, num_bytes]:
        _refuse(f"`data_offsets` that are not [0, {num_bytes}], the bytes behind the header", location)


def _refuse(got: str, location: ErrorLocation) -> NoReturn:
    location.refuse("invalid_image_embeds", f"`image_embeds`: the safetensors file has {got}.")
