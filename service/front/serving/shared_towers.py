"""Models with the same vision tower share what it makes of an image: one encode serves all of them.

Their engines keep the features in a folder in memory that belongs to the service, unless a disk cache is set, which
does the same. What names an image's features is the first such model's fingerprint, so each finds what another has
stored, and takes features that clients got from another. The tier compares the loaded weights once more
(`tower_digest`). Adapters of one base share its whole engine.
"""

import asyncio
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from service.checkpoint.lora.group import group_folder, has_adapter, shares_base
from service.checkpoint.tower_files import same_towers
from service.fairness.threads import in_daemon_thread
from service.front.engine_client.engine_host import EngineGroup
from service.front.served_model import ServedModel
from service.settings.settings import Settings

logger = logging.getLogger("cenote.serving")

MEMORY = Path("/dev/shm")  # noqa: S108  # the folder is this user's alone, and its name is the process's
PREFIX = "cenote-towers-"
MIN_FREE_BYTES = 256 << 20
"""With less free memory there, such as the 64 MB of a container, the folder is made on the disk."""
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FREE_SHARE = 4
"""Of the free memory there, one part in so many may be used."""


@dataclass(frozen=True, slots=True)
class SharedTower:
    """A model's vision tower among those of the service.

    Attributes:
        fingerprint: names features, instead of the model's own.
        settings: of the model, with the place where its engine shares features.
        group: the models that share the weights of its base, and it.
    """

    fingerprint: bytes
    settings: Settings
    group: EngineGroup


class SharedTowers:
    """Waits until the files of all models are here, and says which have the same tower, or the same base.

    Args:
        owner: process id of the process that ends last, which the folder is named after.
    """

    def __init__(self, num_models: int, owner: int) -> None:
        self._num_models = num_models
        self._joined: dict[int, tuple[ServedModel, Settings]] = {}
        self._all = asyncio.Event()
        self._finding: asyncio.Future[Mapping[int, SharedTower]] | None = None
        self._owner = owner
        self._held: list[int] = []  # descriptors

    async def join(self, index: int, model: ServedModel, settings: Settings) -> SharedTower:
        """The tower of the model at `index`, once the files of all are here."""
        if self._num_models == 1:
            return SharedTower(model.fingerprint, settings, EngineGroup((index,)))
        self._joined[index] = (model, settings)
        if len(self._joined) == self._num_models:
            self._all.set()
        await self._all.wait()
        if self._finding is None:
            self._finding = asyncio.ensure_future(in_daemon_thread(self._find, "towers"))
        return (await self._finding)[index]

    def close(self) -> None:
        """Let the folder go."""
        while self._held:
            os.close(self._held.pop())

    def _find(self) -> Mapping[int, SharedTower]:
        places = sorted(self._joined)
        models = [self._joined[place][0] for place in places]
        plans = [self._joined[place][1] for place in places]
        first = same_towers([model.checkpoint.folder for model in models])
        first = [one if _agree(plans[one], plans[place]) else place for place, one in enumerate(first)]
        groups = self._groups()
        towers = {}
        for place in places:
            same = [models[one].name for one in places if first[one] == first[place]]
            settings = plans[place] if len(same) == 1 else self._sharing(plans[place])
            towers[place] = SharedTower(models[first[place]].fingerprint, settings, groups[place])
            if place == first[place] and len(same) > 1:
                logger.info("%s have the same vision tower: an image is encoded once for them", " and ".join(same))
        return towers

    def _groups(self) -> Mapping[int, EngineGroup]:
        """The models of each model's engine."""
        alike: dict[Hashable, list[int]] = {}
        for place, (model, settings) in sorted(self._joined.items()):
            key = shares_base(model.checkpoint.folder, model.profile.architecture)
            how = (settings.dtype, settings.device, settings.threads, model.profile.pooling)
            is_apart = key is None or settings.weights == "int8"
            alike.setdefault((place,) if is_apart else (how, key), []).append(place)
        groups: dict[int, EngineGroup] = {}
        for places in alike.values():
            folders = [self._joined[place][0].checkpoint.folder for place in places]
            if len(places) > 1 and any(has_adapter(one) for one in folders):
                group = EngineGroup(tuple(places), str(group_folder(folders)))
                names = " and ".join(self._joined[place][0].name for place in places)
                logger.info("%s share one engine and the weights of their base", names)
                groups |= dict.fromkeys(places, group)
            else:
                groups |= {place: EngineGroup((place,)) for place in places}
        return groups

    def _sharing(self, settings: Settings) -> Settings:
        """The settings with a folder in memory as disk cache, if they name none."""
        if settings.disk_cache is not None or not settings.encoder_cache_bytes:
            return settings
        has_memory = MEMORY.is_dir() and _free_bytes(MEMORY) >= MIN_FREE_BYTES
        base, max_bytes = MEMORY if has_memory else _disk(), settings.encoder_cache_bytes
        folder = (base or MEMORY) / f"{PREFIX}{self._owner}"
        try:
            if base is not None and not self._held:
                self._held.append(_hold(folder))
        except OSError:
            base = None
        if base is None:
            logger.warning("no folder can be written, so each engine encodes for itself; --disk-cache names one")
            return settings
        if folder.parent == MEMORY:
            max_bytes = min(max_bytes, _free_bytes(MEMORY) // FREE_SHARE)
        return msgspec.structs.replace(settings, disk_cache=str(folder), disk_cache_bytes=max_bytes)


def remove_abandoned() -> None:
    """Remove the folders of this user's services that hold them no more: of those that were killed, or have ended."""
    for base in (MEMORY, _disk()):
        for path in () if base is None else base.glob(f"{PREFIX}*"):
            if not path.name.removeprefix(PREFIX).isdigit():
                continue
            with suppress(OSError):  # somebody's link, or a service holds it
                folder = os.open(path, OPEN_FOLDER)
                try:
                    if os.fstat(folder).st_uid == os.geteuid():
                        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        shutil.rmtree(path)
                finally:
                    os.close(folder)


def _hold(path: Path) -> int:
    """Make a folder, and a descriptor with a lock on it that ends with this process, however it ends.

    A process's number says less: it is another's after a while, and in another container at once.

    Raises:
        OSError: it cannot be made, or is somebody else's.
    """
    while True:
        path.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(path, OPEN_FOLDER)
        found = os.fstat(folder)
        if found.st_uid != os.geteuid():
            os.close(folder)
            raise PermissionError(f"{path} is another user's")
        fcntl.flock(folder, fcntl.LOCK_SH)  # of each front
        with suppress(FileNotFoundError):  # removed before it was held
            if os.path.samestat(found, path.lstat()):
                return folder
        os.close(folder)


def _agree(one: Settings, other: Settings) -> bool:
    """True if two engines compute the same features from the same weights."""
    return (one.dtype, one.device) == (other.dtype, other.device) and "int8" not in (one.weights, other.weights)


def _disk() -> Path | None:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # a container without any
        return None


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
