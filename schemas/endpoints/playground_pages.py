"""`POST /playground/pages`: what the playground shows of a PDF. It belongs to that page, and is no part of the API."""

from schemas.base import Answer, Count, Wire
from schemas.content.file import PdfFile
from schemas.fields import ModelField


class PlaygroundPagesRequest(Wire, frozen=True, kw_only=True):
    """A PDF, and the model whose pixels its pages are to have."""

    model: ModelField = None
    file: PdfFile


class PlaygroundPagesResponse(Answer, frozen=True, kw_only=True):
    """The first pages."""

    num_pages: Count
    """Of the file."""
    images: list[str]
    """Pages from the first: PNG files in base64."""
