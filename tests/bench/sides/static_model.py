"""model2vec's `StaticModel.encode` on the same folder, in a process of its own and with its tokenizer's threads.

`python -m tests.bench.sides.static_model FOLDER THREADS`
"""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from tests.bench.pipe import answer_forever
from tests.bench.sides.text_worker import TextWorker


class StaticModelEncode(TextWorker):
    """Means of rows; a request's texts are one call."""

    def __init__(self, folder: str, num_threads: int) -> None:
        super().__init__()
        os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(num_threads)}
        from model2vec import StaticModel

        self._model = StaticModel.from_pretrained(folder)

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        self.texts[label] = [body["input"] for body in work["bodies"]]

    def embed(self, texts: Sequence[Any]) -> Any:
        return [row for one in texts for row in self._model.encode(one)]

    def num_tokens(self, label: str) -> int:
        return sum(len(ids) for one in self.texts[label] for ids in self._model.tokenize(one))

    def facts(self) -> dict[str, Any]:
        return {"model2vec": version("model2vec")}


if __name__ == "__main__":
    answer_forever(lambda: StaticModelEncode(sys.argv[1], int(sys.argv[2])))
