"""Look-ups in shared tiers: which images, how many at once, for how long. Plain Python, no threads.

A look-up that is not answered by its deadline is given up and its image is encoded. After some of those in a row
nothing is looked up for a while, so that a disk or a server that hangs costs a second now and then and no more.
The first image that an engine meets is never looked up: it is the health probe's, and has to show that this engine's
vision tower works.
"""

import math
from collections import OrderedDict, deque
from collections.abc import Callable

from service.ipc.messages import Media

TIMEOUT_S = 0.5
MAX_LATE = 3
"""Look-ups given up in a row after which nothing is looked up for `REST_S`."""
REST_S = 10.0
MAX_WAITING = 4096


class LookUps:
    """Images that wait to be looked up, and those that are.

    Features of answered look-ups are held by requests, so that only so many start as there is room to hold.
    """

    def __init__(self, begin: Callable[[Media], bool], max_held_tokens: int) -> None:
        """Begin look-ups by `begin`, which says whether it could; hold at most about `max_held_tokens`."""
        self._begin = begin
        self._max_held_tokens = max_held_tokens
        self._waiting: deque[Media] = deque()
        self._under_way: OrderedDict[bytes, tuple[float, int]] = OrderedDict()  # key to deadline and visual tokens
        self._num_tokens = 0
        self._num_late = 0
        self._rests_until_s = 0.0
        self._is_resting = False
        self._has_met_one = False

    def ask(self, media: Media) -> bool:
        """Have an image looked up; False when it will not be."""
        if not self._has_met_one:
            self._has_met_one = True
            return False
        if self._is_resting or len(self._waiting) >= MAX_WAITING:
            return False
        self._waiting.append(media)
        return True

    def turn(self, num_held_tokens: int, now_s: float) -> list[bytes]:
        """Start what there is room for, and give up what is late.

        `num_held_tokens` are visual tokens whose features are held already. Returns the keys of images to be encoded.
        """
        self._is_resting = now_s < self._rests_until_s
        given_up = self._give_up_late(now_s)
        while self._waiting and not self._is_resting and self._has_room(num_held_tokens):
            media = self._waiting.popleft()
            if media.key in self._under_way:
                continue
            if not self._begin(media):
                given_up.append(media.key)
                continue
            self._under_way[media.key] = (now_s + TIMEOUT_S, media.num_tokens)
            self._num_tokens += media.num_tokens
        if self._is_resting:
            given_up += [media.key for media in self._waiting]
            self._waiting.clear()
        return given_up

    def answered(self, key: bytes) -> None:
        """A look-up is over; one that was given up before says nothing for the tiers."""
        if key in self._under_way:
            self._num_late = 0
            self._end(key)

    def wait_s(self, now_s: float) -> float:
        """Seconds that the loop may sleep before a look-up is late; infinite when there is none."""
        if not self._under_way:
            return math.inf
        deadline_s, _ = next(iter(self._under_way.values()))
        return max(0.0, deadline_s - now_s)

    def _has_room(self, num_held_tokens: int) -> bool:
        num_tokens = self._num_tokens + num_held_tokens
        return not num_tokens or num_tokens + self._waiting[0].num_tokens <= self._max_held_tokens

    def _give_up_late(self, now_s: float) -> list[bytes]:
        late = []
        while self.wait_s(now_s) == 0:
            late.append(next(iter(self._under_way)))
            self._end(late[-1])
        self._num_late += len(late)
        if self._num_late >= MAX_LATE:
            self._num_late = 0
            self._rests_until_s = now_s + REST_S
            self._is_resting = True
        return late

    def _end(self, key: bytes) -> None:
        _, num_tokens = self._under_way.pop(key)
        self._num_tokens -= num_tokens
