"""Video files: each is an item, or each segment of it is, whose metadata say where it lies in the file."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.ingest.errors import FailureReason, FileError
from service.ingest.files.source_file import SourceFile, find
from service.ingest.files.video_process import VideoProcesses
from service.ingest.files.video_segment import OpenedVideo, VideoSegment, count_segments, segments
from service.ingest.item import VERSION_BYTES, BadRecord, Metadata, SourceItem
from service.ingest.sources.files import FileItems
from service.media.item import FRAMES_OF_PAIR
from service.media.video.video_file import held

SUFFIXES = (".mp4", ".m4v", ".webm", ".mov", ".mkv", ".avi")
"""Taken for videos; what is neither MP4 nor WebM is a dead letter that says so."""
MAX_KNOWN = 1024
"""Files that need not be opened again to count their segments."""


class VideoSegments(FileItems):
    """Reads files one after the other, segment by segment."""

    counted_bytes = 1 << 30

    def __init__(self, processes: VideoProcesses, segment_s: float) -> None:
        """Make items of segments of `segment_s` each, or of whole files for 0."""
        super().__init__(processes)
        self._processes = processes
        self._segment_s = segment_s
        self._known: OrderedDict[SourceFile, OpenedVideo] = OrderedDict()

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the segments of a file; one that cannot be opened is one bad record."""
        try:
            video = self._opened(find(path, name))
        except FileError as error:
            yield BadRecord(name, error.reason)
            return
        for segment in segments(video, self._segment_s):
            yield self._item(segment)

    def count(self, paths: Sequence[Path]) -> int:
        """Number of segments, or of files that are items as a whole."""
        return super().count(paths) if self._segment_s else len(paths)

    def num_items(self, file: SourceFile) -> int:
        """Number of segments."""
        return count_segments(self._opened(file).info, self._segment_s)

    def _opened(self, file: SourceFile) -> OpenedVideo:
        video = self._known.get(file)
        if video is None:
            with self._processes.process(file) as process:
                video = process.opened(file)
            self._known[file] = video
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return video

    def _item(self, segment: VideoSegment) -> SourceItem | BadRecord:
        file, info = segment.file, segment.video.info
        if len(segment.frames) < FRAMES_OF_PAIR:
            words = held(info, segment.start_s, segment.end_s, len(segment.frames))
            reason = FailureReason("invalid_record", f"{segment.name}: {words}")
            return BadRecord(segment.name, reason, root=file.name)
        metadata: Metadata = {"path": file.name, "duration_s": round(info.duration_s, 3)}
        if self._segment_s:
            metadata |= {"start_s": segment.start_s, "end_s": segment.end_s}
            metadata |= {"segment": segment.number, "num_segments": segment.num_segments}
        version = file.num_bytes.to_bytes(VERSION_BYTES, "big")
        return SourceItem(segment.name, version, 0, metadata=metadata, stamp=file.stamp, media=segment, root=file.name)
