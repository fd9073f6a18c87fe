"""Images a second at the 2B shape, unseen and known, beside stock transformers on the same weights."""

from collections.abc import Iterator

import torch

from service.model.positions import mrope_positions
from service.model.qwen3_vl.qwen3_vl import patchify
from tests.gpu import shape_2b
from tests.gpu.row import Row
from tests.gpu.stage import Stage

SIDES = (512, 1024)
NUM_IMAGES, NUM_WORDS = 16, 32
STOCK_BATCH = 8
"""Images of one forward of stock transformers; their prompts are of one length, so it pads nothing."""


def _names(side: int) -> tuple[str, str, str, str]:
    images = f"{NUM_IMAGES} images of {side}²"
    return (
        f"{images}, unseen: from pixels on the host to vectors",
        f"{images}, known: features on the device",
        f"{images}, by transformers' own model, {STOCK_BATCH} in a forward",
        f"features of an image of {side}², from pinned host memory, of the time to encode it",
    )


NAMES = tuple(name for side in SIDES for name in _names(side))


def measure(stage: Stage) -> Iterator[Row]:
    """Both sides of an image; each row is a rate with its own ceiling."""
    model = shape_2b.make(stage)
    for side in SIDES:
        yield from _of_size(stage, model, side)


def _of_size(stage: Stage, model: shape_2b.Model2B, side: int) -> Iterator[Row]:
    unseen, known, stock, kept = _names(side)
    side, num, batch = stage.size(side, 64), stage.size(NUM_IMAGES, 3), stage.size(STOCK_BATCH, 2)
    vocabulary = int(model.stock.config.text_config.vocab_size)
    grid = (1, side // 16, side // 16)
    generator = torch.Generator().manual_seed(side)
    pixels = [torch.randint(0, 256, (side, side, 3), dtype=torch.uint8, generator=generator) for _ in range(num)]

    def embed(features: list[torch.Tensor]) -> torch.Tensor:
        return model.vectors(shape_2b.image_batch(features, grid, NUM_WORDS, vocabulary))

    def encode(image: torch.Tensor) -> torch.Tensor:
        return model.vision.encode(image)

    features = [encode(image) for image in pixels]
    tower = stage.wall_seconds(lambda: [encode(image) for image in pixels])
    language = stage.wall_seconds(lambda: embed(features))
    both = stage.wall_seconds(lambda: embed([encode(image) for image in pixels]))
    yield Row(unseen, f"{num / both:.1f} a second ({both / num * 1e3:.1f} ms each)", f"tower alone {num / tower:.1f}")
    text = model.flop(shape_2b.text_batch([NUM_WORDS + len(features[0])] * num, vocabulary)) / language
    share = text / stage.matmul_flop_s
    yield Row(known, f"{num / language:.1f} a second", f"{stage.matmul_flop_s / 1e12:.0f} TFLOP/s", share)
    theirs = stage.wall_seconds(lambda: _by_stock(stage, model, pixels[:batch], grid)) / batch
    yield Row(stock, f"{1 / theirs:.1f} a second; ours {both and num / both * theirs:.2f} times that")
    host = features[0].cpu()
    host = host.pin_memory() if stage.device.type == "cuda" else host
    seconds = stage.wall_seconds(lambda: host.to(stage.device, non_blocking=True))
    yield Row(kept, f"{seconds * 1e3:.2f} ms, {host.nbytes / 1e6:.1f} MB", f"{tower / num * 1e3:.1f} ms to encode")


def _by_stock(
    stage: Stage, model: shape_2b.Model2B, pixels: list[torch.Tensor], grid: tuple[int, int, int]
) -> torch.Tensor:
    """The last hidden state of each prompt's last token: tower and language model as transformers runs them."""
    num_visual = grid[1] * grid[2] // 4
    before = NUM_WORDS // 2
    ids = torch.full((len(pixels), NUM_WORDS + num_visual), shape_2b.FIRST_WORD, device=stage.device)
    ids[:, before : before + num_visual] = shape_2b.IMAGE_TOKEN
    patches = torch.cat([patchify(one.to(stage.device)) for one in pixels]).to(model.vision.dtype)
    grids = torch.tensor([grid] * len(pixels), device=stage.device)
    places = torch.from_numpy(mrope_positions(ids.shape[1], [(before, grid)])).to(stage.device)
    positions = places[:, None].expand(-1, len(pixels), -1)
    out = model.stock(
        input_ids=ids, pixel_values=patches, image_grid_thw=grids, position_ids=positions, use_cache=False
    )
    last: torch.Tensor = out.last_hidden_state[:, -1].float().cpu()
    return last
