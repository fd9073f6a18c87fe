"""Which model a run takes whose command names none: one of texts for texts, one that sees for images and videos."""

from itertools import islice

from service.ingest.item import OpenSource, SourceItem
from service.ingest.sources.rows import JsonLines

NUM_LOOKED_AT = 16
"""Items of a source that are read to see what it holds."""


def holds_media(source: OpenSource) -> bool:
    """True if one of a source's first items is an image or a video. A stream counts as if: it is read only once."""
    if isinstance(source, JsonLines) and source.path is None:
        return True
    return any(isinstance(one, SourceItem) and one.media is not None for one in islice(source.items(), NUM_LOOKED_AT))


def model_for(*, has_media: bool) -> str:
    """The model of a server that is started for the run."""
    from service.checkpoint.hub import BUILTIN, MINILM, unnamed_models  # slow to import, for the hub's client

    return MINILM if unnamed_models() and not has_media else BUILTIN
