"""sentence-transformers' `CrossEncoder.predict` on the same checkpoint, in an environment of its own.

`python -m tests.bench.sides.cross_encoder FOLDER THREADS`
"""

import sys
from collections.abc import Sequence
from typing import Any

from tests.bench.pipe import answer_forever
from tests.bench.sides.sentence_transformers import BATCH_SIZE, versions
from tests.bench.sides.text_worker import TextWorker


class CrossEncoderPredict(TextWorker):
    """Pairs, which it sorts by length and pads in batches of 32."""

    def __init__(self, folder: str, num_threads: int) -> None:
        super().__init__()
        import torch
        from sentence_transformers import CrossEncoder

        torch.set_num_threads(num_threads)
        self._model = CrossEncoder(folder, device="cpu", model_kwargs={"dtype": torch.float32})

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        self.texts[label] = [(body["queries"], one) for body in work["bodies"] for one in body["documents"]]

    def embed(self, texts: Sequence[Any]) -> Any:
        return self._model.predict(list(texts), batch_size=BATCH_SIZE, show_progress_bar=False)

    def num_tokens(self, label: str) -> int:
        return int(self._model.preprocess(self.texts[label])["attention_mask"].sum())

    def facts(self) -> dict[str, Any]:
        return versions()


if __name__ == "__main__":
    answer_forever(lambda: CrossEncoderPredict(sys.argv[1], int(sys.argv[2])))
