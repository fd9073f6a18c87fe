"""A sparse model through the service's own halves, without the socket between them."""

from collections.abc import Sequence

import numpy as np
import torch

from service.engine.scheduling.waiting import Waiting
from service.outputs.sparse import SPARSE, SparseAsk, unpack_sparse
from tests.models.text.served import ServedText


class Sparse(ServedText):
    """One whose vectors are weights of the vocabulary's entries."""

    def asked(self, texts: Sequence[str], side: str | None = None) -> list[Waiting[torch.Tensor]]:
        ask = SparseAsk(dimensions=self.profile.dimensions)
        return self.waiting([(side, text) for text in texts], [(ask,)] * len(texts))

    def rows(self, texts: Sequence[str], side: str | None = None) -> list[bytes]:
        """All texts in one packed batch."""
        return self.finished(self.asked(texts, side))

    def finished(self, waiting: Sequence[Waiting[torch.Tensor]]) -> list[bytes]:
        """The rows of a batch."""
        rows = self.runner.finish(self.runner.embed(waiting), [one.request for one in waiting])
        return [row[SPARSE] for row in rows if row is not None]

    def dense(self, texts: Sequence[str], side: str | None = None) -> np.ndarray:
        """The vectors of texts, zeros included."""
        return self.filled(self.rows(texts, side))

    def filled(self, rows: Sequence[bytes]) -> np.ndarray:
        """Rows with their zeros."""
        found = np.zeros((len(rows), self.profile.dimensions), np.float32)
        for one, row in zip(found, rows, strict=True):
            indices, values = unpack_sparse(row)
            assert (np.diff(indices.astype(int)) > 0).all()
            assert (values > 0).all()
            one[indices] = values
        return found
