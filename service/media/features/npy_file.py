"""npy files, read and written: little-endian float32 and float16 in C order, nothing else.

The header is matched by a pattern and never evaluated, as numpy's own reader does. Source: NEP 1, versions 1.0 to 3.0.
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
_NUM_LENGTH_BYTES = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
"""Of the header's length, by version."""
_ENTRY = (
    rb"[ \t\n]*'(descr|fortran_order|shape)'[ \t\n]*:[ \t\n]*"
    rb"(?:'([<>|=]?[A-Za-z]\d{0,3})'|(True|False)|\(([\d, ]{0,200})\))[ \t\n]*(?:,|(?=\}))"
)
_HEADER = re.compile(rb"\{(?:%b){3}[ \t\n]*\}[ \t\n]*" % _ENTRY)
_SIZE = re.compile(r" *(?:0|[1-9]\d*) *", re.ASCII)
"""As Python writes a number: numpy refuses `08`."""
_DTYPES: Mapping[str, TensorDtype] = {"<f4": "float32", "<f2": "float16"}
_DESCRS = {dtype: descr for descr, dtype in _DTYPES.items()}


def read_npy(data: bytes, location: ErrorLocation) -> Tensor:
    """Read an array."""
    version, begin = data[len(MAGIC) : len(MAGIC) + 2], len(MAGIC) + 2
    if version not in _NUM_LENGTH_BYTES:
        _refuse(f"the version {'.'.join(map(str, version))}; accepted are 1.0, 2.0 and 3.0", location)
    begin += _NUM_LENGTH_BYTES[version]
    if (num_header_bytes := int.from_bytes(data[len(MAGIC) + 2 : begin], "little")) > MAX_HEADER_BYTES:
        _refuse(f"a header of {num_header_bytes} bytes; at most {MAX_HEADER_BYTES} are accepted", location)
    if (start := begin + num_header_bytes) > len(data):
        _refuse(f"{len(data)} bytes, and its header alone needs {start}: it is cut short", location)
    found = re.findall(_ENTRY, data[begin:start])
    entries = {name.decode(): (descr or order or sizes).decode() for name, descr, order, sizes in found}
    if _HEADER.fullmatch(data, begin, start) is None or len(entries) != len(found):
        _refuse("a header that describes no plain array of one number format", location)
    if (descr := entries["descr"]) not in _DTYPES:
        reason = " (big-endian)" if descr[:1] == ">" else " (Python objects, which can hold code)" * ("O" in descr)
        _refuse(f"the dtype {descr}{reason}; accepted are <f4 and <f2, little-endian floats", location)
    if entries["fortran_order"] != "False":
        _refuse("columns first (Fortran order); save `numpy.ascontiguousarray(array)`", location)
    dtype, sizes = _DTYPES[descr], entries["shape"].removesuffix(",").split(",")
    if len(sizes) > MAX_AXES or not all(_SIZE.fullmatch(one) and int(one) <= MAX_SIZE for one in sizes):
        _refuse("a shape that is not a short list of sizes", location)
    shape = tuple(map(int, sizes))
    if (num_bytes := len(data) - start) != (num_needed := prod(shape) * ITEM_BYTES[dtype]):
        _refuse(f"{num_bytes} bytes of numbers; the shape {shown(shape)} in {dtype} needs {num_needed}", location)
    return Tensor(dtype, shape, memoryview(data)[start:])


def npy_head(tensor: Tensor) -> bytes:
    """Build the header of a file of version 1.0, for float32 and float16; the numbers begin at a multiple of 64."""
    shape = "".join(f"{size}, " for size in tensor.shape).removesuffix(" ")
    header = f"{{'descr': '{_DESCRS[tensor.dtype]}', 'fortran_order': False, 'shape': ({shape}), }}"
    header = f"{header:<{-(len(MAGIC) + 4 + 1 + len(header)) % 64 + len(header)}}\n"
    return MAGIC + b"\1\0" + len(header).to_bytes(2, "little") + header.encode()


def _refuse(got: str, location: ErrorLocation) -> NoReturn:
    location.refuse("invalid_image_embeds", f"`image_embeds`: the npy file has {got}.")
