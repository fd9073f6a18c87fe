"""The page of a PDF that a part names, as an image. Runs in a worker thread."""

from schemas.content.file import FilePart
from service.errors import InputError, MediaError
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.modality import refuse_modality
from service.front.inputs.placed_media import PlacedMedia
from service.media.error_location import ErrorLocation
from service.media.page.page_file import OpenPage, PageItem

NO_PDFIUM = (
    "got a PDF, which this server cannot read without its extra `pdf` (`pip install -e '.[pdf]'`); send the page as an "
    "image"
)


def read_page(reader: MediaReader, place: PlacedMedia) -> PageItem:
    """Return the page of a part, which `reader` holds opened.

    Raises:
        MediaError: the file is at fault.
        InputError: the model takes no images, or the server cannot read PDFs.
    """
    assert isinstance(place.part, FilePart)  # the caller has checked
    param, rule = place.content_param, reader.image_rule
    if rule is None:
        refuse_modality("a page of a PDF", reader.modalities, param, place.index)
    opened = reader.opened.get(place.param)
    if isinstance(opened, MediaError):
        raise MediaError(opened.code, opened.message, param=opened.param, index=place.index)
    if not isinstance(opened, OpenPage):
        raise InputError("invalid_request", f"`{param}`: {NO_PDFIUM}", param=param, index=place.index)
    return PageItem.of(opened, rule, ErrorLocation(param, place.index), salt=reader.salt)
