"""A tensor out of the base64 text of a file: safetensors or npy, told apart by the first bytes.

Nothing is ever unpickled. `torch.save` writes a zip archive with a pickle inside, and the old one a bare pickle: both
are refused by name. Knows no model.
"""

from service.media.error_location import ErrorLocation
from service.media.features.npy_file import MAGIC as NPY_MAGIC
from service.media.features.npy_file import read_npy
from service.media.features.safetensors_file import looks_like_safetensors, read_safetensors
from service.media.features.tensor import Tensor, refuse
from service.media.source import decode_base64, in_one_line

_ZIP_MAGIC = b"PK\x03\x04"
_PICKLE_MAGIC = b"\x80"
_NEVER = "which can hold code and is never opened"
_INSTEAD = '`safetensors.torch.save({"image_embeds": tensor.cpu().contiguous()})` makes the bytes to send in base64'


def read_tensor_file(text: str, *, max_bytes: int, location: ErrorLocation) -> Tensor:
    """Decode base64 and read the one tensor of the file.

    Base64 is read as images' is.

    Args:
        text: base64 of a safetensors or npy file.
        max_bytes: largest file. Checked on the length of the base64, before decoding.

    Source: RFC 4648 section 4; docs/notes/security.md.
    """
    data = _decode(text, max_bytes, location)
    if data.startswith(NPY_MAGIC):
        return read_npy(data, location)
    if data.startswith(_ZIP_MAGIC):
        return refuse(f"got a zip archive (`torch.save` or npz), {_NEVER}; {_INSTEAD}", location)
    if looks_like_safetensors(data):
        return read_safetensors(data, location)
    if data.startswith(_PICKLE_MAGIC):
        return refuse(f"got a pickle (the old `torch.save`), {_NEVER}; {_INSTEAD}", location)
    return refuse(f"got {len(data)} bytes that are neither a safetensors nor an npy file; {_INSTEAD}", location)


def _decode(text: str, max_bytes: int, location: ErrorLocation) -> bytes:
    text = in_one_line(text)
    num_bytes = len(text) * 3 // 4 - text[-2:].count("=")
    if num_bytes > max_bytes:
        refuse(f"got {num_bytes} bytes; features of these grids take at most {max_bytes}, header included", location)
    try:
        return decode_base64(text)
    except ValueError:  # binascii.Error is one
        return refuse("got no base64: one alphabet, whole padding or none and no spaces inside are needed", location)
