"""One folder for a checkpoint whose files lie in several: links in the user's cache. Imports no torch."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from service.checkpoint.json_files import CheckpointError


def linked_folder(links: Mapping[str, Path], kind: str) -> Path:
    """A folder of links.

    The same files give the same folder; processes that make it at once do not disturb each other.

    Args:
        links: names in the folder, of files of its subfolders too, and where the files are.
        kind: the part of the cache that it belongs to.
    """
    key = hashlib.sha256()
    for name, path in sorted(links.items()):
        facts = path.stat()
        key.update(f"{name}\0{path}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path raises without a home
    place = Path(home) / "cenote" / kind / key.hexdigest()
    try:
        _write(place, links)
    except OSError as error:
        raise CheckpointError(
            f"{place} cannot be written ({error}), where links to the checkpoint's files belong: set XDG_CACHE_HOME "
            "to a folder that can"
        ) from error
    return place


def _write(place: Path, links: Mapping[str, Path]) -> None:
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        for name, path in links.items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).symlink_to(path)
        made.rename(place)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not place.is_dir():  # else another process was first
            raise
