"""Features as bytes that others read: the same bits come back, and anything else at all is a miss."""

import random

import pytest
import torch
from safetensors.torch import load as load_safetensors

from service.engine.shared_tiers.codec import FeaturesCodec, stored_name, tower_digest
from service.ipc.messages import Media
from tests import builders

WIDTH = 24
NAMESPACE = bytes(32)
KEY = bytes(range(32))


def codec(dtype: torch.dtype = torch.float32, namespace: bytes = NAMESPACE, width: int = WIDTH) -> FeaturesCodec:
    return FeaturesCodec(namespace, dtype, width, torch.device("cpu"))


def media(num_tokens: int = 5, key: bytes = KEY) -> Media:
    return builders.media(key, num_tokens=num_tokens)


def features(dtype: torch.dtype = torch.float32, num_tokens: int = 5) -> torch.Tensor:
    return torch.randn(num_tokens, WIDTH, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_same_bits_come_back_and_the_file_is_one_that_others_read(dtype: torch.dtype) -> None:
    blob = codec(dtype).hold(KEY, features(dtype))()
    back = codec(dtype).read(media(), blob)
    assert back is not None
    assert back.dtype == dtype
    assert torch.equal(back, features(dtype))
    (stored,) = load_safetensors(blob).values()
    assert torch.equal(stored, features(dtype))


def test_no_part_of_a_tensor_that_was_made_in_inference_mode_is_lost() -> None:
    with torch.inference_mode():
        made = features() * 2
    back = codec().read(media(), codec().hold(KEY, made)())
    assert back is not None
    assert torch.equal(back, made)


def test_whatever_byte_is_another_it_is_a_miss() -> None:
    blob = codec().hold(KEY, features())()
    for place in range(len(blob)):
        broken = bytearray(blob)
        broken[place] ^= 1 << place % 8
        assert codec().read(media(), bytes(broken)) is None, place


def test_whatever_is_cut_off_or_added_it_is_a_miss() -> None:
    blob = codec().hold(KEY, features())()
    for length in range(0, len(blob), 7):
        assert codec().read(media(), blob[:length]) is None
    assert codec().read(media(), blob + b"\0") is None
    draw = random.Random(1)
    for _ in range(500):
        assert codec().read(media(), draw.randbytes(draw.randrange(600))) is None


def test_features_of_another_image_size_format_or_tower_are_a_miss() -> None:
    blob = codec().hold(KEY, features())()
    assert codec().read(media(), blob) is not None
    assert codec().read(media(key=bytes(32)), blob) is None
    assert codec().read(media(num_tokens=4), blob) is None
    assert codec(namespace=KEY).read(media(), blob) is None
    assert codec(width=2 * WIDTH).read(media(), blob) is None
    assert codec(torch.float16).read(media(), codec(torch.bfloat16).hold(KEY, features(torch.bfloat16))()) is None


def test_every_part_of_a_name_counts() -> None:
    names = {stored_name(namespace, key) for namespace in (NAMESPACE, KEY) for key in (bytes(32), KEY)}
    assert len(names) == 4
    assert all(len(name) == 64 and set(name) <= set("0123456789abcdef") for name in names)


def test_a_towers_digest_depends_on_weights_format_and_configuration() -> None:
    def tower(change: float = 0.0, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
        torch.manual_seed(0)
        made = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)).to(dtype)
        with torch.no_grad():
            made[0].weight[7, 7] += change
        return made

    digests = {
        tower_digest(tower(), "{}"),
        tower_digest(tower(1e-6), "{}"),  # a fine-tuned one: same headers, same sizes
        tower_digest(tower(dtype=torch.bfloat16), "{}"),
        tower_digest(tower(), "{1}"),
    }
    assert len(digests) == 4
    assert tower_digest(tower(), "{}") in digests
