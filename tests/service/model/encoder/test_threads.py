"""`one_thread`: products run in the calling thread alone, and in as many as before after it."""

import pytest
import torch

from service.model.stock.text_encoder import one_thread


def test_the_number_of_threads_comes_back_whatever_happens() -> None:
    before, seen = torch.get_num_threads(), []

    def fail() -> None:
        with one_thread():
            seen.append(torch.get_num_threads())
            raise ValueError("inside")

    try:
        torch.set_num_threads(2)
        with pytest.raises(ValueError, match="inside"):
            fail()
        assert [*seen, torch.get_num_threads()] == [1, 2]
    finally:
        torch.set_num_threads(before)
