"""Which model takes what a source holds, and which files of a folder are left out since it takes none of their kind."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from service.ingest.arguments import Options
from service.ingest.errors import IngestError
from service.ingest.item import OpenSource, SourceItem
from service.ingest.sending.handshake import Agreed
from service.ingest.sending.media import NO_IMAGES
from service.ingest.sources.files import NamedFiles
from service.ingest.sources.folder import FileKind, Folder
from service.ingest.sources.pdf import PdfPages
from service.ingest.sources.rows import JsonLines
from service.ingest.sources.video import VideoSegments

NUM_LOOKED_AT = 16
"""Items of a source that are read to see what it holds."""
MAX_SUFFIXES = 4
"""That a sentence names."""
NOTHING = "SOURCE: the folder has no document, image, PDF or video; --glob selects files by other names"


def holds_media(source: OpenSource) -> bool:
    """True if a run needs a model that sees: its source begins with images or videos, and is no folder of documents.

    A stream counts as if it did: it is read only once.
    """
    if isinstance(source, JsonLines) and source.path is None:
        return True
    if isinstance(source, Folder) and "document" in source.kinds():
        return False
    return any(isinstance(one, SourceItem) and one.media is not None for one in islice(source.items(), NUM_LOOKED_AT))


def model_for(*, has_media: bool) -> str:
    """The model of a server that is started for the run."""
    from service.checkpoint.hub import BUILTIN, MINILM, unnamed_models  # slow to import, for the hub's client

    return MINILM if unnamed_models() and not has_media else BUILTIN


def check_taken(source: OpenSource, options: Options, agreed: Agreed) -> None:
    """Refuse files of which the model could take nothing."""
    if isinstance(source, Folder) and options.segment_s and agreed.bounds.video_rule is None:
        raise IngestError(f"--segment-s: {agreed.bounds.no_videos}")
    if not isinstance(source, NamedFiles):
        return
    if not agreed.bounds.max_pixels and agreed.plan.pages != "text" and source.has(PdfPages):
        raise IngestError(f"--pages {agreed.plan.pages}: {NO_IMAGES}")
    if agreed.bounds.video_rule is None and source.has(VideoSegments):
        raise IngestError(f"SOURCE: {agreed.bounds.no_videos}")


def leave_out(source: OpenSource, agreed: Agreed) -> tuple[int, str]:
    """Have a folder pass over files of kinds that the model does not take: what is left out, and what to say of it.

    Raises:
        IngestError: it holds no others.
    """
    if not isinstance(source, Folder):
        return 0, ""
    found = source.kinds()
    if not found:
        return 0, NOTHING
    source.left_out = frozenset(found.keys() - _taken(agreed.card, agreed))
    unread = source.unread()
    also = f"{_described('file', unread)} of kinds that are not read" if unread else ""
    if not source.left_out:
        return unread.total(), f"leaves out {also}" if unread else ""
    left: dict[FileKind, Counter[str]] = {kind: found[kind] for kind in found if kind in source.left_out}
    takes = f"{agreed.card['root']} takes {' and '.join(agreed.card['modalities'])} alone"
    if len(left) == len(found):
        raise IngestError(f"SOURCE: it holds nothing but {_listed(left)}, and {takes}; {_advice(source, agreed)}")
    words = f"leaves out {_listed(left)}, as {takes}; for them, {_advice(source, agreed)} and another --to"
    num_files = sum(files.total() for files in left.values()) + unread.total()
    return num_files, f"{words}; and {also}" if unread else words


def _taken(card: Mapping[str, Any], agreed: Agreed) -> set[FileKind]:
    """Kinds of file that a model takes; of videos a server of an older version does not say how they are sampled."""
    needed: dict[FileKind, str] = {"document": "text", "image": "image", "video": "video"}
    needed["PDF"] = "text" if agreed.plan.pages == "text" else "image"
    takes: set[FileKind] = {kind for kind, modality in needed.items() if modality in card["modalities"]}
    return takes if card.get("video_fps") is not None else takes - {"video"}


def _advice(source: Folder, agreed: Agreed) -> str:
    """What to do about files that are left out."""
    others = (card["id"] for card in agreed.served if source.left_out <= _taken(card, agreed))
    name = next(others, None)
    return f"run it with --model {name}" if name else "run it with a --model that takes them"


def _listed(kinds: Mapping[FileKind, Counter[str]]) -> str:
    """The kinds of file, with their numbers and suffixes."""
    return " and ".join(_described(kind, files) for kind, files in kinds.items())


def _described(kind: str, files: Counter[str]) -> str:
    suffixes: Sequence[str] = [suffix or "no suffix" for suffix, _ in files.most_common(MAX_SUFFIXES)]
    more = ", ..." if len(files) > MAX_SUFFIXES else ""
    return f"{files.total()} {kind}{'s' if files.total() > 1 else ''} ({', '.join(suffixes)}{more})"
