"""The packed forward on the oracle's checkpoint: items never mix, deepstack counts, a cache would break it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Qwen3VLModel

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import ModelError
from service.ipc.messages import Media, PixelSlot, Request
from service.model.architectures import pooled_model
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch, VisualTokens
from service.model.qwen3_vl.language import LanguageModel
from service.model.qwen3_vl.qwen3_vl import Qwen3VL, patchify
from service.model.qwen3_vl.vision import VisionTower
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from tests.conftest import CHECKPOINT

TOLERANCE = 1e-5


def packed(lengths: list[int], seed: int = 0) -> PackedBatch:
    ids = torch.randint(0, 8000, (sum(lengths),), generator=torch.Generator().manual_seed(seed))
    positions = torch.cat([torch.arange(length) for length in lengths]).expand(4, -1)
    return PackedBatch(ids, positions, lengths)


def test_a_nan_in_one_item_stays_there(model: Qwen3VLModel) -> None:
    batch = packed([5, 7, 9])
    features = torch.full((1, 3 * 128), float("nan"))
    poisoned = PackedBatch(batch.token_ids, batch.position_ids, [5, 7, 9], VisualTokens(torch.tensor([8]), features))
    bad = LanguageModel(model).forward(poisoned).isnan().any(-1).tolist()
    assert bad[:5] == [False] * 5
    assert bad[12:] == [False] * 9
    assert bad[11]


def test_the_stock_forward_with_its_default_cache_mixes_packed_items(model: Qwen3VLModel) -> None:
    """Shows why `use_cache=False` is there, and notices if transformers changes (docs/notes/qwen3-vl-embedding.md)."""
    batch = packed([9, 9])
    inputs = {"input_ids": batch.token_ids[None], "position_ids": batch.position_ids.unsqueeze(1)}
    mixed = model.language_model(**inputs).last_hidden_state[0]
    apart = model.language_model(**inputs, use_cache=False).last_hidden_state[0]
    ours = LanguageModel(model).forward(batch)
    torch.testing.assert_close(apart, ours, atol=1e-4, rtol=0)
    assert (mixed - ours)[9:].abs().max() > 0.01


def test_patches_are_the_processors(model: Qwen3VLModel) -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    pixels = np.random.default_rng(0).integers(0, 256, (96, 160, 3), dtype=np.uint8)
    processor = Qwen2VLImageProcessorPil(
        patch_size=16, merge_size=2, image_mean=[0.5] * 3, image_std=[0.5] * 3, do_resize=False
    )
    want = torch.as_tensor(np.asarray(processor(images=[pixels], input_data_format="channels_last")["pixel_values"]))
    torch.testing.assert_close(patchify(torch.from_numpy(pixels)), want.float(), atol=1e-6, rtol=0)


def test_the_self_check_passes_on_an_intact_model_and_sees_a_lost_deepstack(
    model: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = pooled_model(Qwen3VL(model))
    check_forward(ours, known_answers(ours))
    intact = VisionTower.encode
    monkeypatch.setattr(
        VisionTower, "encode", lambda tower, image: intact(tower, image) * torch.tensor([1.0] * 128 + [0.0] * 256)
    )
    with pytest.raises(ModelError, match="known-answer"):
        check_forward(ours, known_answers(ours))


def test_features_of_another_size_never_reach_the_batch(model: Qwen3VLModel) -> None:
    """Batch totals agree here (6 + 2 features for 4 + 4 placeholders): each request is checked by itself."""
    runner = ModelRunner(pooled_model(Qwen3VL(model)), memoryview(bytearray(64)))
    media = Media(key=b"", grid_thw=(1, 4, 4), offset=1, num_tokens=4, slot=PixelSlot(0, 0))
    batch = [
        Waiting(
            Request(id=i, plan=TokenPlan([1] * 8), media=(media,), asks=(DenseAsk(dimensions=128),)),
            0.0,
            [torch.zeros(n, 384)],
        )
        for i, n in enumerate([6, 2])
    ]
    with pytest.raises(RuntimeError, match="features do not match"):
        runner.embed(batch)


def test_a_checkpoint_without_a_tensor_does_not_load(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(CHECKPOINT / "model.safetensors")
    del tensors["model.language_model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    (tmp_path / "config.json").write_bytes((CHECKPOINT / "config.json").read_bytes())
    with pytest.raises(ModelError, match="up_proj"):
        load_stock(Qwen3VLModel, tmp_path, torch.device("cpu"), torch.float32)


def test_shards_in_bfloat16_load_and_keep_their_rotary_frequencies(model: Qwen3VLModel, tmp_path: Path) -> None:
    """As a released checkpoint comes: several bf16 shards with an index. `inv_freq` has to stay float32."""
    stock = Qwen3VLModel.from_pretrained(CHECKPOINT, dtype=torch.bfloat16)
    stock.save_pretrained(tmp_path, max_shard_size="1MB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    loaded = load_stock(Qwen3VLModel, tmp_path, torch.device("cpu"), None)
    assert loaded.dtype == torch.bfloat16
    assert loaded.language_model.rotary_emb.inv_freq.dtype == torch.float32
    ours = LanguageModel(loaded).forward(packed([12])).float()[-1]
    want = LanguageModel(model).forward(packed([12]))[-1]
    assert torch.nn.functional.cosine_similarity(ours, want, dim=0) > 0.99
