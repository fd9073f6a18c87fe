"""The one place where a picture's bytes become pixels.

In: encoded bytes and their header. Out: an RGB picture of the stored size.
Does not resize, does not read EXIF, and does not choose which thread it runs in.
"""

from PIL import Image

from service.media.blame import Blame
from service.media.header import UNREADABLE, Header, open_image_file


def decode_rgb(encoded: bytes, header: Header, *, param: str | None = None, index: int | None = None) -> Image.Image:
    """Decode the first frame in full and bring it to RGB as the reference does.

    RGBA is laid over white by its alpha band; every other mode is converted plainly, so that transparent pixels of LA
    and P show their stored color. EXIF orientation, ICC profile and gamma are ignored. A file that ends early is an
    error: Pillow's tolerant mode stays off.

    Args:
        encoded: the bytes of a picture file.
        header: what `read_header` found in these bytes.
        param: path of the field, for the error.
        index: input of the batch, for the error.

    Returns:
        A picture of mode RGB, `header.width` by `header.height`.

    Raises:
        MediaError: `media_undecodable`.

    Source: reference/qwen3-vl-embedding.md section 3.2; qwen-vl-utils 0.0.14, `to_rgb`.
    """
    blame = Blame(param, index)
    opened = open_image_file(encoded, header.format, blame)
    try:
        opened.load()
        picture = _to_rgb(opened)
    except Exception:  # noqa: BLE001  # fuzzing found eight unrelated classes, from SyntaxError to struct.error
        blame.refuse("media_undecodable", UNREADABLE)
    if picture.size != (header.width, header.height):  # the limits were checked on the header's size
        blame.refuse("media_undecodable", UNREADABLE)
    return picture


def _to_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGBA":
        canvas = Image.new("RGB", picture.size, (255, 255, 255))
        canvas.paste(picture, mask=picture.getchannel("A"))
        return canvas
    picture.info.pop("transparency", None)  # convert() would only warn about it: it never changes RGB pixels
    return picture.convert("RGB")
