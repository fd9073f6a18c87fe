"""Features as clients send them: what is right is carried on bit for bit, every other file is told what is wrong."""

import base64
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.features.features import FeatureRule, FeaturesItem, open_features
from service.media.features.npy_file import write_npy
from service.media.features.safetensors_file import ORIGIN, write_safetensors
from service.media.features.tensor import Tensor
from service.media.item import ITEM_BYTES, TensorDtype

HIDDEN, WIDTH = 8, 24
RULE = FeatureRule(hidden=HIDDEN, width=WIDTH, origin="ours")
GRID = [1, 4, 6]
ROWS = 6
PARAM = "inputs[3].content[0].image_embeds"

Mutation = Callable[[np.random.Generator, bytes], bytes]


def numbers(rows: int = ROWS, width: int = WIDTH, dtype: str = "<f4") -> np.ndarray:
    return np.random.default_rng(rows * width).normal(size=(rows, width)).astype(dtype)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def safetensors(tensor: torch.Tensor) -> bytes:
    return save_safetensors({"image_embeds": tensor})


def raw_safetensors(header: Any, data: bytes) -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


def entry(dtype: str = "F32", shape: Any = (ROWS, WIDTH), offsets: Any = (0, ROWS * WIDTH * 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def saved_by_torch(**options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(torch.from_numpy(numbers()), buffer, **options)
    return buffer.getvalue()


def opened(file: bytes | str, grid: list[Any] = GRID, rule: FeatureRule = RULE) -> list[FeaturesItem]:
    text = file if isinstance(file, str) else base64.b64encode(file).decode()
    return open_features(text, grid, rule, ErrorLocation(PARAM, 3))


def refusal(file: bytes | str, grid: list[Any] = GRID, rule: FeatureRule = RULE) -> MediaError:
    with pytest.raises(MediaError) as caught:
        opened(file, grid, rule)
    error = caught.value
    assert (error.code, error.index) == ("invalid_image_embeds", 3)
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert len(error.message) < 400
    return error


def test_where_no_features_are_taken_they_are_refused_unread() -> None:
    with pytest.raises(MediaError) as caught:
        opened("no base64 at all", rule=FeatureRule(hidden=HIDDEN, width=WIDTH, is_accepted=False))
    assert (caught.value.code, caught.value.param, caught.value.index) == ("media_source_refused", PARAM, 3)


@pytest.mark.parametrize("dtype", ["<f4", "<f2"])
@pytest.mark.parametrize("pack", [npy, lambda array: safetensors(torch.from_numpy(array))])
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
    assert (item.param, item.index, len(key)) == (PARAM, 3, 32)


def test_bfloat16_comes_in_safetensors() -> None:
    tensor = torch.from_numpy(numbers()).bfloat16()
    (item,) = opened(safetensors(tensor))
    assert item.dtype == "bfloat16"
    assert bytes(item.data) == tensor.view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("grids", [[1, 4, 6, 1, 2, 2], [[1, 4, 6], [1, 2, 2]]])
def test_stacked_images_become_views_of_one_buffer(grids: list[Any]) -> None:
    array = numbers(ROWS + 1)
    first, second = opened(npy(array), grids)
    assert (first.num_tokens, second.num_tokens) == (ROWS, 1)
    assert bytes(first.data) + bytes(second.data) == array.tobytes()
    assert first.data.obj is second.data.obj


def test_a_batch_axis_of_one_changes_nothing() -> None:
    assert opened(npy(numbers()[None])) == opened(npy(numbers()))


def test_zeros_and_the_smallest_numbers_are_numbers() -> None:
    array = np.zeros((ROWS, WIDTH), "<f4")
    array[0, :4] = [-0.0, 1e-45, -1e4, 1e4]
    (item,) = opened(npy(array))
    assert bytes(item.data) == array.tobytes()


def test_the_key_knows_numbers_format_grid_and_model() -> None:
    def key(item: FeaturesItem, model: bytes = b"model") -> bytes:
        return item.key(memoryview(bytearray(item.num_slot_bytes)), model)

    zeros = np.zeros((ROWS, WIDTH), "<f2")
    files = [npy(numbers()), npy(zeros), safetensors(torch.zeros(ROWS, WIDTH).bfloat16())]
    items = [item for file in files for item in opened(file)] + opened(npy(zeros), [1, 2, 12])
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
    error = refusal(npy(numbers()), grid)
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
def test_a_shape_that_does_not_fit_is_told_both_shapes(array: np.ndarray, grid: list[Any], words: str) -> None:
    for file in (npy(array), safetensors(torch.from_numpy(array.copy()))):
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


def test_what_torch_saves_is_refused_with_what_to_send_instead() -> None:
    for file in (saved_by_torch(), saved_by_torch(_use_new_zipfile_serialization=False), pickle.dumps([1])):
        message = refusal(file).message
        assert "can hold code" in message
        assert "safetensors.torch.save(" in message


def test_an_npz_is_refused_unopened() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(1 << 20))
    assert "zip archive" in refusal(buffer.getvalue()).message


class Trap:
    """Unpickled, it would end the test run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


NPY_FAULTS = {
    "objects": (npy(np.array([[Trap()]], dtype=object)), "|O (Python objects"),
    "big-endian": (npy(numbers(dtype=">f4")), "big-endian"),
    "float64": (npy(numbers(dtype="<f8")), "the dtype <f8"),
    "integers": (npy(numbers().astype("<i4")), "the dtype <i4"),
    "structured": (npy(np.zeros(3, dtype=[("a", "<f4")])), "no plain array"),
    "fortran": (npy(np.asfortranarray(numbers())), "Fortran order"),
    "cut": (npy(numbers())[:-1], "575 bytes of numbers; the shape 6 x 24 in float32 needs 576"),
    "trailing": (npy(numbers()) + b"\0", "577 bytes of numbers"),
    "header cut": (npy(numbers())[:40], "cut short"),
    "magic alone": (b"\x93NUMPY", "the version"),
    "version": (b"\x93NUMPY\x09\x00" + npy(numbers())[8:], "the version 9.0"),
    "huge header": (b"\x93NUMPY\x02\x00" + (1 << 31).to_bytes(4, "little"), "at most 10000"),
    "huge shape": (npy(numbers()).replace(b"(6, 24), }", b"(1000000000000,), }"), "sizes"),
    "code": (npy(numbers()).replace(b"(6, 24), }", b"exit(), } "), "no plain array"),
    "twice": (npy(numbers()).replace(b"'fortran_order': False", b"'descr': '<f4'        "), "no plain array"),
}


@pytest.mark.parametrize("name", NPY_FAULTS)
def test_an_npy_file_that_is_not_plain_is_refused(name: str) -> None:
    file, words = NPY_FAULTS[name]
    assert words in refusal(file).message


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_npy_are_read(version: tuple[int, int]) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, numbers(), version)
    assert bytes(opened(buffer.getvalue())[0].data) == numbers().tobytes()


DATA = numbers().tobytes()
SAFETENSORS_FAULTS = {
    "two tensors": (save_safetensors({"a": torch.zeros(1), "b": torch.zeros(1)}), "2 tensors; exactly one"),
    "another name": (raw_safetensors({"x": entry()}, DATA), "another name; `image_embeds` is accepted"),
    "none": (raw_safetensors({}, b""), "0 tensors"),
    "metadata alone": (raw_safetensors({"__metadata__": {"a": "b"}}, b""), "0 tensors"),
    "bad metadata": (raw_safetensors({"__metadata__": {"a": 1}, "image_embeds": entry()}, DATA), "__metadata__"),
    "float64": (safetensors(torch.zeros(ROWS, WIDTH, dtype=torch.float64)), "the dtype F64"),
    "integers": (safetensors(torch.zeros(ROWS, WIDTH, dtype=torch.int32)), "the dtype I32"),
    "unknown dtype": (raw_safetensors({"image_embeds": entry(dtype="evil\n" * 50)}, DATA), "the dtype another"),
    "dtype no text": (raw_safetensors({"image_embeds": entry(dtype=[1])}, DATA), "the dtype another"),  # type: ignore[arg-type]
    "twice": (
        raw_safetensors(b'{"x":' + json.dumps(entry()).encode() + b',"x":' + json.dumps(entry()).encode() + b"}", DATA),
        "names a key twice",
    ),
    "no json": (raw_safetensors(b"{" * 100, DATA), "not JSON"),
    "deep json": (raw_safetensors(b'{"x":' + b"[" * 60_000, DATA), "not JSON"),
    "utf-16": (raw_safetensors(b"{\0" + json.dumps(entry()).encode("utf-16-le"), DATA), "not JSON"),
    "huge number": (raw_safetensors(b'{"x":' + b"9" * 50_000 + b"}", DATA), "not JSON"),
    "no entry": (raw_safetensors({"image_embeds": 5}, DATA), "exactly `dtype`"),
    "more in the entry": (raw_safetensors({"image_embeds": entry() | {"y": 1}}, DATA), "exactly `dtype`"),
    "huge header": ((1 << 40).to_bytes(8, "little") + b"{}", "at most 65536"),
    "header cut": ((1000).to_bytes(8, "little") + b"{}", "cut short"),
    "cut": (raw_safetensors({"image_embeds": entry()}, DATA[:-1]), "575 bytes of numbers"),
    "trailing": (raw_safetensors({"image_embeds": entry()}, DATA + b"\0"), "577 bytes of numbers"),
    "offsets": (raw_safetensors({"image_embeds": entry(offsets=[4, ROWS * WIDTH * 4 + 4])}, DATA), "not [0, 576]"),
    "offsets no list": (raw_safetensors({"image_embeds": entry(offsets=7)}, DATA), "not [0, 576]"),
    "offsets true": (raw_safetensors({"image_embeds": entry(offsets=[False, ROWS * WIDTH * 4])}, DATA), "not [0, 576]"),
    "negative": (raw_safetensors({"image_embeds": entry(shape=[-ROWS, -WIDTH])}, DATA), "list of sizes"),
    "true as size": (raw_safetensors({"image_embeds": entry(shape=[True, ROWS * WIDTH])}, DATA), "list of sizes"),
    "many axes": (raw_safetensors({"image_embeds": entry(shape=[1] * 9_000)}, DATA), "9000 axes"),
    "huge and empty": (
        raw_safetensors({"image_embeds": entry(shape=[10**18, 0], offsets=[0, 0])}, b""),
        "list of sizes",
    ),
    "empty": (
        raw_safetensors({"image_embeds": entry(shape=[0, WIDTH], offsets=[0, 0])}, b""),
        "got 0 x 24, expected 6 x 24",
    ),
}


@pytest.mark.parametrize("name", SAFETENSORS_FAULTS)
def test_a_safetensors_file_that_is_not_one_tensor_is_refused(name: str) -> None:
    file, words = SAFETENSORS_FAULTS[name]
    assert words in refusal(file).message


def test_text_that_is_no_file_is_refused() -> None:
    good = base64.b64encode(npy(numbers())).decode()
    for text in (
        "",
        "AAAA",
        "not base64!",
        good[:-4] + "\n" + good[-4:],
        "data:x;base64," + good,
        good + "====",
        good + "=",
    ):
        assert refusal(text).param == f"{PARAM}.image_embeds"


def test_a_file_far_too_large_for_its_grid_is_refused_before_it_is_decoded() -> None:
    message = refusal("!" * 200_000).message  # not base64 at all, and nobody looked
    assert "got 150000 bytes" in message
    assert str(ROWS * WIDTH * 8 + (1 << 16) + 8) in message


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_we_write_the_libraries_read(dtype: TensorDtype) -> None:
    want = torch.from_numpy(numbers()).to(getattr(torch, dtype))
    data = memoryview(want.view(torch.uint8).numpy().tobytes())
    assert len(data) == ROWS * WIDTH * ITEM_BYTES[dtype]
    tensor = Tensor(dtype, (ROWS, WIDTH), data)
    (got,) = load_safetensors(write_safetensors(tensor)).values()
    assert torch.equal(got, want)
    if dtype != "bfloat16":
        np.testing.assert_array_equal(np.load(io.BytesIO(write_npy(tensor)), allow_pickle=False), want.numpy())
        assert bytes(opened(write_npy(tensor))[0].data) == bytes(data)
    assert bytes(opened(write_safetensors(tensor))[0].data) == bytes(data)


def flip(draw: np.random.Generator, file: bytes) -> bytes:
    mutated = bytearray(file)
    for _ in range(draw.integers(1, 4)):
        mutated[draw.integers(min(len(file), 200))] = draw.integers(256)
    return bytes(mutated)


def cut(draw: np.random.Generator, file: bytes) -> bytes:
    return file[: draw.integers(len(file))]


def repeat(draw: np.random.Generator, file: bytes) -> bytes:
    start, stop = sorted(draw.integers(0, 200, 2))
    return file[:stop] + file[start:stop] * int(draw.integers(1, 40)) + file[stop:]


def swap_digits(draw: np.random.Generator, file: bytes) -> bytes:
    places = [i for i, byte in enumerate(file[:200]) if 48 <= byte < 58]
    mutated = bytearray(file)
    mutated[places[draw.integers(len(places))]] = 48 + draw.integers(10)
    return bytes(mutated)


@pytest.mark.parametrize("seed", [npy(numbers()), safetensors(torch.from_numpy(numbers()))], ids=["npy", "safetensors"])
@pytest.mark.parametrize("mutation", [flip, cut, repeat, swap_digits])
def test_a_mutated_file_is_refused_or_gives_its_own_bytes(seed: bytes, mutation: Mutation) -> None:
    """3,000 files each: only MediaError comes out, and what is accepted is the file's own tail."""
    draw = np.random.default_rng(0)
    num_refused = 0
    for _ in range(3_000):
        file = mutation(draw, seed)
        try:
            (item,) = opened(file)
        except MediaError:
            num_refused += 1
        else:
            assert file.endswith(bytes(item.data))
            assert item.num_slot_bytes == ROWS * WIDTH * ITEM_BYTES[item.dtype]
    assert num_refused > 500


def test_base64_in_any_spelling_is_the_same_features() -> None:
    text = base64.b64encode(npy(numbers())).decode()
    spellings = [text.rstrip("="), base64.urlsafe_b64encode(npy(numbers())).decode(), text + "\n"]
    assert [opened(one) for one in spellings] == [opened(text)] * 3
