"""The one place where a picture's bytes become pixels.

In: encoded bytes, their header and how to read them. Out: an RGB picture.
Does not resize, and does not choose which thread or process it runs in.
"""

import io
import warnings
from collections.abc import Mapping

from PIL import BmpImagePlugin, GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin
from PIL.ImageFile import ImageFile

from service.media.blame import Blame
from service.media.format import Format
from service.media.header import UNREADABLE, Header
from service.media.orientation import turn_upright
from service.media.reading import Background, Color
from service.media.walk import needed_bytes

_WHOLE = 1 << 40


class _PlainJpeg(JpegImagePlugin.JpegImageFile):
    """Pillow's JPEG without its EXIF reader.

    Opening a JPEG parses its EXIF for a resolution that nobody here asks for: a second parser for strangers' bytes,
    which warns on stderr about damaged tags.
    """

    def getexif(self) -> Image.Exif:
        return Image.Exif()

    def load_read(self, read_bytes: int) -> bytes:
        """The whole file at once: of 64 kB at a time, libjpeg goes over all that it could not take yet each time."""
        return super().load_read(_WHOLE)


_PLUGINS: Mapping[Format, type[ImageFile]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": _PlainJpeg,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
}
_WHITE: Color = (255, 255, 255)

# Strangers' files must not write into our log: Pillow warns about damaged APNG chunks and the like. For the whole
# process, since `warnings.catch_warnings` is not safe in threads.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def decode_rgb(
    encoded: bytes,
    header: Header,
    *,
    background: Background | None = None,
    param: str | None = None,
    index: int | None = None,
) -> Image.Image:
    """Decode the first frame in full, bring it to RGB and turn it as the header's orientation says.

    Without a background as Qwen3-VL's reference does: RGBA is laid over white by its alpha band; every other mode is
    converted plainly, so that transparent pixels of LA and P show their stored color and 16-bit gray is clipped at 255.
    With a color as background, transparency of every mode lies over it; with `stored`, RGBA is converted plainly too.
    ICC profile and gamma are ignored. A file that ends early is an error: Pillow's tolerant mode stays off. Rows that
    are missing inside a complete PNG stream are not: Pillow, and so the reference, leaves them black.

    The plugin's class is called directly. `Image.open` would add Pillow's own limit, 89 million pixels, which is a
    process-wide setting, prints warnings, and does not name numbers.

    Args:
        encoded: the bytes of a picture file.
        header: what `read_header` found in these bytes.
        background: what shows where it is transparent, or None for the reference's rule.
        param: path of the field, for the error.
        index: input of the batch, for the error.

    Returns:
        A picture of mode RGB, `header.width` by `header.height` before it is turned.

    Raises:
        MediaError: `media_undecodable`.

    Source: reference/qwen3-vl-embedding.md section 3.2; qwen-vl-utils 0.0.14, `to_rgb`.
    """
    try:
        opened = _PLUGINS[header.format](io.BytesIO(needed_bytes(encoded, header.format)))
        is_as_declared = opened.size == (header.width, header.height)  # the limits were checked on the header's size
        picture = _to_rgb(_loaded(opened), background) if is_as_declared else None
    except Exception:  # noqa: BLE001  # fuzzing found eight unrelated classes, from SyntaxError to struct.error
        picture = None
    if picture is None:
        Blame(param, index).refuse("media_undecodable", UNREADABLE)
    return turn_upright(picture, header.orientation)


def _loaded(opened: ImageFile) -> Image.Image:
    """All of the pixels, and no more of what they came from: WebP's decoder holds twice as much as they take."""
    opened.load()
    vars(opened).pop("_decoder", None)
    opened.fp = None
    return opened


def _to_rgb(picture: Image.Image, background: Background | None) -> Image.Image:
    has_integers = picture.mode.startswith("I")
    if background == "stored":
        picture.info.pop("transparency", None)  # as below
        return picture.convert("RGB")
    if background is not None and picture.has_transparency_data and not has_integers:
        picture = picture if picture.mode == "RGBA" else picture.convert("RGBA")
    if picture.mode == "RGBA":
        canvas = Image.new("RGB", picture.size, _WHITE if background is None else background)
        canvas.paste(picture, mask=picture.getchannel("A"))
        return canvas
    picture.info.pop("transparency", None)  # convert() would only warn about it: it never changes RGB pixels
    return picture.convert("RGB")
