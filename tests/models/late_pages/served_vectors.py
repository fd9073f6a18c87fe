"""The service's own way to the vectors of queries and pages, without its sockets, and items of all sorts."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from service.prompt.prompt import Prompt
from tests.models.late_interaction.reference import Item
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE
from tests.models.vlm.served import Served

ITEMS: dict[str, Item] = {
    "query": "Which lighthouse stands on a cliff?",
    "empty query": "",
    "query of a newline": "\nfirst line\n\n second ",
    "query in other scripts": "Ein Leuchtturm über dem Meer, 灯台 и маяк.",
    "page": SMALL,
    "wide page": WIDE,
    "tall page": TALL,
    "page of a whole size": EXACT,
    "page over the limit": LARGE,
    "sliver of a page": SLIVER,
    "transparent page": CLEAR,
}
QUERIES = [item for item in ITEMS.values() if isinstance(item, str)]
PAGES = [item for item in ITEMS.values() if isinstance(item, Image.Image)]


class ServedVectors(Served):
    """A checkpoint whose prompts have several vectors each."""

    def item_prompt(self, item: Item) -> Prompt:
        return self.prompt(item) if isinstance(item, str) else self.prompt("", [item])

    def __call__(self, items: Sequence[Item]) -> list[np.ndarray]:
        """`[tokens, dimensions]` for each item, all of them in one batch."""
        waiting = [self._waiting(index, self.item_prompt(item)) for index, item in enumerate(items)]
        rows = self.runner.finish(self.runner.embed(waiting), [one.request for one in waiting])
        return [
            np.frombuffer(row["float32"], np.float32).reshape(-1, self.profile.dimensions)
            for row in rows
            if row is not None
        ]


def difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    assert [one.shape for one in got] == [one.shape for one in want]
    return max(float(np.abs(one - other).max()) for one, other in zip(got, want, strict=True))
