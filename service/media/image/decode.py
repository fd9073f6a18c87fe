"""The one place where an image's bytes become pixels: decode, convert to RGB, turn upright, resize.

Runs in a thread of the front or in a decoder process.
"""

import io
import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from PIL import BmpImagePlugin, GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin
from PIL.ImageFile import ImageFile as PillowFile

from service.media.error_location import NO_LOCATION, ErrorLocation
from service.media.image.header import UNREADABLE, Format, Header, needed_bytes
from service.media.image.image_file import ImageFile
from service.media.image.orientation import turn_upright
from service.media.item import Background, Color, ImageReadOptions, Size
from service.media.resize.resize import Framing, frame


def load_pixels(item: ImageFile) -> NDArray[np.uint8]:
    """Decode and resize an image to uint8 [height, width, 3]."""
    return render(item.encoded, item.header, item.options, item.size, item.framing, item.location)


def render(
    encoded: bytes,
    header: Header,
    options: ImageReadOptions,
    size: Size,
    framing: Framing,
    location: ErrorLocation = NO_LOCATION,
) -> NDArray[np.uint8]:
    """Decode and resize the parts of an image to uint8 [height, width, 3], C order.

    Source: docs/notes/qwen3-vl-embedding.md.
    """
    return frame(decode_rgb(encoded, header, location, background=options.background), framing, size)


_WHOLE = 1 << 40


class _PlainJpeg(JpegImagePlugin.JpegImageFile):
    """Pillow's JPEG without its EXIF reader.

    Opening a JPEG parses its EXIF for a resolution that is not used here: a second parser for untrusted bytes,
    which warns on stderr about damaged tags.
    """

    def getexif(self) -> Image.Exif:
        return Image.Exif()

    def load_read(self, read_bytes: int) -> bytes:
        """The whole file at once: of 64 kB at a time, libjpeg goes over all that it could not take yet each time."""
        return super().load_read(_WHOLE)


_PLUGINS: Mapping[Format, type[PillowFile]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": _PlainJpeg,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
}
_WHITE: Color = (255, 255, 255)

# Untrusted files must not write into our log: Pillow warns about damaged APNG chunks and the like. For the whole
# process, since `warnings.catch_warnings` is not safe in threads.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def decode_rgb(
    encoded: bytes, header: Header, location: ErrorLocation = NO_LOCATION, *, background: Background = "reference"
) -> Image.Image:
    """The first frame in full, in RGB, `header.width` by `header.height` and then turned as its orientation says.

    By `reference`, as Qwen3-VL's does: RGBA is laid over white by its alpha band; every other mode is converted
    plainly, so that transparent pixels of LA and P show their stored color and 16-bit gray is clipped at 255.
    With a color as background, transparency of every mode lies over it; with `stored`, RGBA is converted plainly too.
    ICC profile and gamma are ignored. A file that ends early is an error: Pillow's tolerant mode stays off. Rows that
    are missing inside a complete PNG stream are not: Pillow, and so the reference, leaves them black.

    The plugin's class is called directly. `Image.open` would add Pillow's own limit, 89 million pixels, which is a
    process-wide setting, prints warnings, and does not name numbers.

    Source: docs/notes/qwen3-vl-embedding.md; qwen-vl-utils 0.0.14, `to_rgb`.
    """
    try:
        opened = _PLUGINS[header.format](io.BytesIO(needed_bytes(encoded, header.format)))
        is_as_declared = opened.size == (header.width, header.height)  # the limits were checked on the header's size
        image = _to_rgb(_loaded(opened), background) if is_as_declared else None
    except Exception:  # noqa: BLE001  # fuzzing found eight unrelated classes, from SyntaxError to struct.error
        image = None
    if image is None:
        location.refuse("media_undecodable", UNREADABLE)
    return turn_upright(image, header.orientation)


def _loaded(opened: PillowFile) -> Image.Image:
    """Load all pixels and drop the decoder: WebP's holds twice as much memory as they take."""
    opened.load()
    vars(opened).pop("_decoder", None)
    opened.fp = None
    return opened


def _to_rgb(image: Image.Image, background: Background) -> Image.Image:
    has_integers = image.mode.startswith("I")
    if background == "stored":
        image.info.pop("transparency", None)  # as below
        return image.convert("RGB")
    if background != "reference" and image.has_transparency_data and not has_integers:
        image = image if image.mode == "RGBA" else image.convert("RGBA")
    if image.mode == "RGBA":
        canvas = Image.new("RGB", image.size, _WHITE if background == "reference" else background)
        canvas.paste(image, mask=image.getchannel("A"))
        return canvas
    image.info.pop("transparency", None)  # convert() would only warn about it: it never changes RGB pixels
    return image.convert("RGB")
