"""Sounds in processes that can be killed, always: whatever decodes pictures, FFmpeg never runs in the front."""

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from service.decode.isolated import IsolatedWork
from service.decode.messages import SoundTask
from service.fairness.room import FairRoom
from service.media.blame import Blame
from service.media.sound import SAMPLE_BYTES, SLACK_S, Sound
from service.media.sound_file import SoundFormat, SoundInfo

COMMAND = (sys.executable, "-P", "-m", "service.decode.sound_worker")

UNREADABLE = "The audio cannot be decoded: the file is damaged, cut short, or holds no sound that can be read."

COPIES = 3
"""Of the samples: as they were decoded, joined, and in the slot."""


class SoundDecoder:
    """What sound files say, and their samples, within a budget and a deadline."""

    def __init__(
        self,
        *,
        num_workers: int,
        max_bytes: int,
        deadline_s: float,
        max_duration_s: float,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._max_duration_s = max_duration_s
        self._work = IsolatedWork(
            command,
            what="audio",
            unreadable=UNREADABLE,
            num_workers=num_workers,
            max_bytes=max_bytes,
            deadline_s=deadline_s,
        )

    @property
    def room(self) -> FairRoom:
        """For what is being decoded."""
        return self._work.room

    async def info(self, encoded: bytes, kind: SoundFormat, blame: Blame) -> SoundInfo:
        """What a file says of its sound.

        Raises:
            MediaError: `media_undecodable`.
        """
        task = SoundTask(encoded=encoded, format=kind, max_duration_s=self._max_duration_s)
        return await self._work.run(len(encoded), partial(self._info, task, blame))

    async def slot(self, sound: Sound) -> NDArray[np.uint8]:
        """What the slot of a sound holds: its samples, behind their number.

        Args:
            sound: whose container has been read.

        Returns:
            uint8 `[num_slot_bytes]`.

        Raises:
            MediaError: `media_undecodable`.
        """
        info = sound.file.info
        task = SoundTask(
            encoded=sound.file.encoded,
            format=sound.file.format,
            rule=sound.rule,
            max_samples=int((info.duration_s + SLACK_S) * sound.rule.rate_hz),
            num_slot_bytes=sound.num_slot_bytes,
        )
        num_bytes = task.max_samples * SAMPLE_BYTES * COPIES + len(task.encoded)
        return await self._work.run(num_bytes, partial(self._slot, task, Blame(sound.param, sound.index)))

    def close(self) -> None:
        """End the processes that are idle; nobody may decode any more."""
        self._work.close()

    def _info(self, task: SoundTask, blame: Blame) -> SoundInfo:
        end, _ = self._work.ask(task, 0, blame)
        return end.sound or blame.refuse("media_undecodable", UNREADABLE)

    def _slot(self, task: SoundTask, blame: Blame) -> NDArray[np.uint8]:
        _, slot = self._work.ask(task, task.num_slot_bytes, blame)
        return blame.refuse("media_undecodable", UNREADABLE) if slot is None else slot
