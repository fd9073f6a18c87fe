"""Features that fit a model are taken bit for bit; a shape, grid or number that does not fit is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save as save_safetensors

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.features.features import FeatureRule, FeaturesItem
from service.media.features.safetensors_file import ORIGIN
from tests.builders import npy_bytes
from tests.service.media.features.sent_features import (
    GRID,
    HIDDEN,
    PARAM,
    ROWS,
    WIDTH,
    numbers,
    opened,
    refusal,
    safetensors,
)


def test_where_no_features_are_taken_they_are_refused_unread() -> None:
    with pytest.raises(MediaError) as caught:
        opened("no base64 at all", rule=FeatureRule(hidden=HIDDEN, width=WIDTH, is_accepted=False))
    assert (caught.value.code, caught.value.param, caught.value.index) == ("media_source_refused", PARAM, 3)


@pytest.mark.parametrize("dtype", ["<f4", "<f2"])
@pytest.mark.parametrize("pack", [npy_bytes, lambda array: safetensors(torch.from_numpy(array))])
def test_both_formats_give_the_rows_as_they_were_sent(pack: Callable[[np.ndarray], bytes], dtype: str) -> None:
    array = numbers(dtype=dtype)
    (item,) = opened(pack(array))
    out = bytearray(item.num_slot_bytes)
    out[:] = item.data
    key = item.key(memoryview(out), b"model")
    assert bytes(item.data) == array.tobytes()
    assert (item.grid_thw, item.num_tokens, item.dtype) == (
        (1, 4, 6),
        ROWS,
        {"<f4": "float32", "<f2": "float16"}[dtype],
    )
    assert (item.location, len(key)) == (ErrorLocation(PARAM, 3), 32)


def test_bfloat16_comes_in_safetensors() -> None:
    tensor = torch.from_numpy(numbers()).bfloat16()
    (item,) = opened(safetensors(tensor))
    assert item.dtype == "bfloat16"
    assert bytes(item.data) == tensor.view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("grids", [[1, 4, 6, 1, 2, 2], [[1, 4, 6], [1, 2, 2]]])
def test_stacked_images_become_views_of_one_buffer(grids: list[Any]) -> None:
    array = numbers(ROWS + 1)
    first, second = opened(npy_bytes(array), grids)
    assert (first.num_tokens, second.num_tokens) == (ROWS, 1)
    assert bytes(first.data) + bytes(second.data) == array.tobytes()
    assert first.data.obj is second.data.obj


def test_a_batch_axis_of_one_changes_nothing() -> None:
    assert opened(npy_bytes(numbers()[None])) == opened(npy_bytes(numbers()))


def test_zeros_and_the_smallest_numbers_are_numbers() -> None:
    array = np.zeros((ROWS, WIDTH), "<f4")
    array[0, :4] = [-0.0, 1e-45, -1e4, 1e4]
    (item,) = opened(npy_bytes(array))
    assert bytes(item.data) == array.tobytes()


def test_the_key_knows_numbers_format_grid_and_model() -> None:
    def key(item: FeaturesItem, model: bytes = b"model") -> bytes:
        return item.key(memoryview(bytearray(item.num_slot_bytes)), model)

    zeros = np.zeros((ROWS, WIDTH), "<f2")
    files = [npy_bytes(numbers()), npy_bytes(zeros), safetensors(torch.zeros(ROWS, WIDTH).bfloat16())]
    items = [item for file in files for item in opened(file)] + opened(npy_bytes(zeros), [1, 2, 12])
    keys = [key(item) for item in items] + [key(items[0], b"other")]
    assert len(set(keys)) == 5
    assert len({item.digest for item in items}) == 4
    assert key(opened(safetensors(torch.from_numpy(numbers())))[0]) == keys[0]  # the container does not count


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([1, 4], "got 2 numbers, expected three"),
        ([[1, 4, 6], [1, 2]], "three numbers for each"),
        ([[1, 4, 6], 1, 2, 2], "mixed"),
        ([2, 4, 6], "temporal size of 2, expected 1"),
        ([1, 3, 8], "3 x 8 patches, expected even"),
        ([1, 8, 3], "8 x 3 patches, expected even"),
        ([1, 1, 1], "1 x 1 patches"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(grid: list[Any], words: str) -> None:
    error = refusal(npy_bytes(numbers()), grid)
    assert words in error.message
    assert error.param == f"{PARAM}.image_grid_thw"


@pytest.mark.parametrize(
    ("array", "grid", "words"),
    [
        (numbers(ROWS - 1), GRID, "got 5 x 24, expected 6 x 24: sum of T x H x W / 4"),
        (numbers(ROWS + 1), GRID, "got 7 x 24, expected 6 x 24"),
        (numbers(), [1, 4, 6, 1, 2, 2], "got 6 x 24, expected 7 x 24: sum of T x H x W / 4 over 2 grids is 7"),
        (numbers(ROWS, HIDDEN), GRID, "the features of the 2 deepstack layers are missing"),
        (numbers(ROWS, WIDTH + 1), GRID, "got 6 x 25, expected 6 x 24: hidden size 8"),
        (numbers(WIDTH, ROWS), GRID, "got 24 x 6, expected 6 x 24"),
        (numbers()[0], GRID, "1 axes, expected two"),
        (numbers().reshape(2, 3, WIDTH), GRID, "3 axes, expected two"),
        (numbers()[None, None], GRID, "4 axes, expected two"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused_with_both_shapes(array: np.ndarray, grid: list[Any], words: str) -> None:
    for file in (npy_bytes(array), safetensors(torch.from_numpy(array.copy()))):
        error = refusal(file, grid)
        assert words in error.message
        assert error.param == f"{PARAM}.image_embeds"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("place", [(0, 0), (2, 17), (ROWS - 1, WIDTH - 1)])
def test_a_number_that_is_not_finite_is_named_by_its_place(
    value: float, dtype: torch.dtype, place: tuple[int, int]
) -> None:
    tensor = torch.from_numpy(numbers()).to(dtype)
    tensor[place] = value
    assert f"not finite in row {place[0]}, column {place[1]}" in refusal(safetensors(tensor)).message


@pytest.mark.parametrize(
    ("value", "dtype", "is_refused"),
    [
        (1e30, torch.float32, True),
        (-1e30, torch.bfloat16, True),
        (70_000.0, torch.float32, True),
        (10_001.0, torch.float32, True),
        (10_016.0, torch.float16, True),
        (-10_000.0, torch.float32, False),
        (10_000.0, torch.float16, False),
        (9_984.0, torch.bfloat16, False),
    ],
)
def test_a_number_that_the_model_cannot_compute_with_is_refused(
    value: float, dtype: torch.dtype, is_refused: bool
) -> None:
    tensor = torch.from_numpy(numbers()).to(dtype)
    tensor[1, 2] = value
    if is_refused:
        message = refusal(safetensors(tensor)).message
        assert "row 1, column 2" in message
        assert "beyond 10000" in message
    else:
        assert len(opened(safetensors(tensor))) == 1


def test_features_of_another_model_are_refused_and_files_that_do_not_say_are_taken() -> None:
    tensor = torch.from_numpy(numbers())
    for metadata, is_refused in (({ORIGIN: "ours"}, False), ({"format": "pt"}, False), ({ORIGIN: "another"}, True)):
        file = save_safetensors({"image_embeds": tensor}, metadata=metadata)
        if is_refused:
            assert "another model" in refusal(file).message
        else:
            assert len(opened(file)) == 1


def stated(grids: str) -> bytes:
    return save_safetensors({"image_embeds": torch.from_numpy(numbers())}, {"cenote.grid": grids})


def test_a_file_that_states_its_grids_is_of_these() -> None:
    (item,) = opened(stated("1,4,6"))
    assert item.grid_thw == (1, 4, 6)
    two = opened(stated("1,2,4;1,4,4"), [1, 2, 4, 1, 4, 4])
    assert [item.grid_thw for item in two] == [(1, 2, 4), (1, 4, 4)]


@pytest.mark.parametrize(
    ("said", "grid", "words"),
    [
        ("1,4,6", [1, 6, 4], "its grids are 1,4,6, got 1,6,4 beside it"),
        ("1,4,6", [1, 2, 12], "its grids are 1,4,6, got 1,2,12"),
        ("1,4,6", [1, 2, 4, 1, 4, 4], "its grids are 1,4,6, got 1,2,4;1,4,4"),
        ("1,2,4;1,4,4", [1, 4, 4, 1, 2, 4], "its grids are 1,2,4;1,4,4, got"),
        ("<script>", [1, 4, 6], "its grids are others, got 1,4,6"),
        ("", [1, 4, 6], "its grids are others"),
    ],
)
def test_a_grid_of_the_same_product_is_not_the_files(said: str, grid: list[int], words: str) -> None:
    assert words in refusal(stated(said), grid).message
