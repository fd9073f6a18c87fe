"""npy files, read and written: little-endian float32 and float16 in C order, nothing else.

The header is matched by one pattern and never evaluated. numpy's own reader runs a Python parser over it, and takes
big-endian, structured and Fortran-order arrays and bytes behind the last number. Knows no model.

Source: NEP 1, versions 1.0 to 3.0; docs/notes/security.md.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import NoReturn

from service.media.error_location import ErrorLocation
from service.media.features.tensor import MAX_AXES, MAX_SIZE, Tensor, shown
from service.media.item import ITEM_BYTES, TensorDtype

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000
"""numpy's own limit."""

_LENGTH_BYTES: Mapping[tuple[int, int], int] = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
"""Size of the header's length, by version."""
_ENTRY = re.compile(
    rb"[ \t\n]*'(?P<name>descr|fortran_order|shape)'[ \t\n]*:[ \t\n]*"
    rb"(?:'(?P<descr>[<>|=]?[A-Za-z]\d{0,3})'|(?P<order>True|False)|\((?P<sizes>[\d, ]{0,200})\))[ \t\n]*(?:,|(?=\}))"
)
_SIZE = re.compile(r"0|[1-9]\d{0,9}")
_END = re.compile(rb"[ \t\n]*\}[ \t\n]*\Z")
_DTYPES: Mapping[str, TensorDtype] = {"<f4": "float32", "<f2": "float16"}
_DESCRS: Mapping[TensorDtype, str] = {dtype: descr for descr, dtype in _DTYPES.items()}
_ALIGN = 64


def read_npy(data: bytes, location: ErrorLocation) -> Tensor:
    """Read an array.

    Raises:
        MediaError: `invalid_image_embeds`.
    """
    header, start = _split(data, location)
    entries = _entries(header, location)
    dtype, shape = _dtype(entries["descr"], location), _shape(entries["shape"], location)
    if entries["fortran_order"] == "True":
        _refuse("columns first (Fortran order); save `numpy.ascontiguousarray(array)`", location)
    num_bytes, num_needed = len(data) - start, prod(shape) * ITEM_BYTES[dtype]
    if num_bytes != num_needed:
        _refuse(f"{num_bytes} bytes of numbers; the shape {shown(shape)} in {dtype} needs {num_needed}", location)
    return Tensor(dtype, shape, memoryview(data)[start:])


def write_npy(tensor: Tensor) -> bytes:
    """Write an array as a file of version 1.0.

    Args:
        tensor: of float32 or float16; npy has no bfloat16.
    """
    return npy_head(tensor) + tensor.data


def npy_head(tensor: Tensor) -> bytes:
    """Build the header of a file of version 1.0; the numbers begin at a multiple of 64."""
    sizes = "".join(f"{size}, " for size in tensor.shape)
    header = f"{{'descr': '{_DESCRS[tensor.dtype]}', 'fortran_order': False, 'shape': ({sizes[:-1]}), }}"
    num_before = len(MAGIC) + 2 + 2
    header += " " * (-(num_before + len(header) + 1) % _ALIGN) + "\n"
    return b"".join([MAGIC, b"\x01\x00", len(header).to_bytes(2, "little"), header.encode()])


def _split(data: bytes, location: ErrorLocation) -> tuple[bytes, int]:
    """The header, and where the numbers begin."""
    version = tuple(data[len(MAGIC) : len(MAGIC) + 2])
    begin = len(MAGIC) + 2
    if len(version) != 2 or version not in _LENGTH_BYTES:
        _refuse(f"the version {'.'.join(map(str, version))}; accepted are 1.0, 2.0 and 3.0", location)
    num_length_bytes = _LENGTH_BYTES[version]
    num_header_bytes = int.from_bytes(data[begin : begin + num_length_bytes], "little")
    if num_header_bytes > MAX_HEADER_BYTES:
        _refuse(f"a header of {num_header_bytes} bytes; at most {MAX_HEADER_BYTES} are accepted", location)
    start = begin + num_length_bytes + num_header_bytes
    if start > len(data):
        _refuse(f"{len(data)} bytes, and its header alone needs {start}: it is cut short", location)
    return data[start - num_header_bytes : start], start


def _entries(header: bytes, location: ErrorLocation) -> dict[str, str]:
    entries: dict[str, str] = {}
    place = 1
    while header[:1] == b"{" and (match := _ENTRY.match(header, place)) is not None:
        name = match["name"].decode()
        value = {"descr": match["descr"], "fortran_order": match["order"], "shape": match["sizes"]}[name]
        if value is None or name in entries:
            break
        entries[name] = value.decode()
        place = match.end()
    if len(entries) != 3 or _END.match(header, place) is None:
        _refuse("a header that describes no plain array of one number format", location)
    return entries


def _dtype(descr: str, location: ErrorLocation) -> TensorDtype:
    if descr in _DTYPES:
        return _DTYPES[descr]
    reason = " (big-endian)" if descr[0] == ">" else " (Python objects, which can hold code)" if "O" in descr else ""
    return _refuse(f"the dtype {descr}{reason}; accepted are <f4 and <f2, little-endian floats", location)


def _shape(sizes: str, location: ErrorLocation) -> tuple[int, ...]:
    parts = [part.strip() for part in sizes.split(",")]
    listed = parts[:-1] if parts[-1] == "" else parts
    if len(listed) > MAX_AXES or not all(_SIZE.fullmatch(part) and int(part) <= MAX_SIZE for part in listed):
        _refuse("a shape that is not a short list of sizes", location)
    return tuple(map(int, listed))


def _refuse(got: str, location: ErrorLocation) -> NoReturn:
    location.refuse("invalid_image_embeds", f"`image_embeds`: the npy file has {got}.")
