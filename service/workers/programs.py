"""The commands of the workers' programs, and whether the libraries that they load are installed."""

import sys
from importlib.util import find_spec

_PROGRAM = (sys.executable, "-P", "-m")
"""With -P, or the folder that the server was started in came before the packages."""

IMAGES = (*_PROGRAM, "service.workers.image_worker")
VIDEOS = (*_PROGRAM, "service.workers.av_worker", "video")
AUDIO = (*_PROGRAM, "service.workers.av_worker", "audio")
PAGES = (*_PROGRAM, "service.workers.page_worker")

DOCUMENTS = (*_PROGRAM, "service.workers.document_worker")
"""With `plain` or `office`."""


def has_codecs() -> bool:
    """Return whether PyAV is installed, by the extra `video` or `audio`."""
    return find_spec("av") is not None


def has_documents() -> bool:
    """Return whether mammoth and markdownify are installed, by the extra `documents`."""
    return find_spec("mammoth") is not None and find_spec("markdownify") is not None


def has_pdfium() -> bool:
    """Return whether pypdfium2 is installed, by the extra `pdf`."""
    return find_spec("pypdfium2") is not None
