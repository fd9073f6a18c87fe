"""File content parts: one page of a PDF, seen as an image."""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_PDF
from schemas.limits import MAX_INT32


class PdfFile(Wire, frozen=True, kw_only=True):
    """A PDF, in the shape of OpenAI's files."""

    file_data: Annotated[
        str,
        Meta(
            description="A data URI of a PDF (`data:application/pdf;base64,...`) or the base64 text alone; the server "
            "needs its extra `pdf`. `http`, `https` and `file` URLs are refused unless the server is configured to "
            "read them from their host or directory.",
            examples=[EXAMPLE_PDF],
        ),
    ]
    filename: Annotated[
        str | None, Meta(description="Accepted for OpenAI's clients and ignored.", examples=["report.pdf"])
    ] = None


class FilePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """One page of a PDF, which is rendered and then read as an image is."""

    file: Annotated[
        PdfFile,
        Meta(description="The PDF.", examples=[{"file_data": EXAMPLE_PDF}]),
    ]
    page: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)],
        Meta(description="The page, counted from 1.", examples=[1]),
    ] = 1
