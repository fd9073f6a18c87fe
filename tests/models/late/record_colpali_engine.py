"""Writes colpali_engine_0_3_18.json: vectors that colpali-engine itself gives for the small checkpoints of the tests.

Run by hand, where `colpali-engine==0.3.18` is installed beside torch, transformers and peft, without torchvision (it is
no dependency of the tests): `PYTHONPATH=. python -m tests.models.late.record_colpali_engine`. Of each
vector the first numbers are kept; all of them count in its length.
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers.models.qwen2_vl.image_processing_pil_qwen2_vl as pil
from transformers import (
    Idefics3ImageProcessorPil,
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessorPil,
    SiglipImageProcessorPil,
)
from transformers.processing_utils import ProcessorMixin

from tests.models.late import checkpoints, engine_checkpoints
from tests.models.vlm.images import EXACT, TALL

FILE = Path(__file__).with_name("colpali_engine_0_3_18.json")
QUERIES = ("Which lighthouse stands on a cliff?", "")
PAGES = {"exact": EXACT, "tall": TALL}
KEPT = 8


def vectors(model: Any, processor: Any, prefix: str) -> dict[str, str]:
    """By the engine's own processor and forward; queries have the prefix of its releases before 0.3.13."""
    made = {}
    for text in QUERIES:
        made[text] = model(**processor.process_queries([prefix + text]))
    for name, page in PAGES.items():
        made[name] = model(**processor.process_images([page]))
    return {name: base64.b64encode(one[0, :, :KEPT].numpy().tobytes()).decode() for name, one in made.items()}


def processor_of(kind: type, folder: Path) -> Any:
    """The engine's processor over the checkpoint's files, with images by Pillow, as the service has them."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="<|endoftext|>")
    return kind(image_processor=Qwen2VLImageProcessorPil.from_pretrained(folder), tokenizer=tokenizer)


def _do_without_torchvision() -> None:
    """The engine takes `smart_resize` of a module that needs it, and transformers looks up classes for videos."""
    sys.modules["transformers.models.qwen2_vl.image_processing_qwen2_vl"] = pil
    ProcessorMixin.check_argument_for_proper_class = lambda *_: None


@torch.inference_mode()
def recorded() -> Iterator[tuple[str, dict[str, str]]]:
    """Name of a checkpoint, and its vectors by item."""
    _do_without_torchvision()
    from colpali_engine.models import (
        ColIdefics3,
        ColIdefics3Processor,
        ColPali,
        ColPaliProcessor,
        ColQwen2,
        ColQwen2_5,
        ColQwen2_5_Processor,
        ColQwen2Processor,
        ColQwen3,
        ColQwen3_5,
        ColQwen3_5Processor,
        ColQwen3Processor,
    )

    with TemporaryDirectory() as name:
        folder = Path(name)
        base = checkpoints.colqwen2_5(folder / "colqwen2.5")
        processor = processor_of(ColQwen2_5_Processor, base)
        yield "colqwen2.5", vectors(ColQwen2_5.from_pretrained(base).eval(), processor, "Query: ")
        old = checkpoints.colqwen2_5(folder / "colqwen2.5-old", old_names=True)
        adapter = checkpoints.adapter(folder / "adapter", old)
        yield "colqwen2.5 adapter", vectors(ColQwen2_5.from_pretrained(adapter).eval(), processor, "Query: ")
        older = checkpoints.colqwen2(folder / "colqwen2")
        processor = processor_of(ColQwen2Processor, older)
        yield "colqwen2", vectors(ColQwen2.from_pretrained(older).eval(), processor, "Query: ")
        newer = checkpoints.colqwen3(folder / "colqwen3")
        processor = processor_of(ColQwen3Processor, newer)
        yield "colqwen3", vectors(ColQwen3.from_pretrained(newer).eval(), processor, "")
        adapter = checkpoints.adapter(folder / "adapter3", newer)
        yield "colqwen3 adapter", vectors(ColQwen3.from_pretrained(adapter).eval(), processor, "")
        pali = engine_checkpoints.colpali(folder / "colpali")
        images = SiglipImageProcessorPil.from_pretrained(pali)
        processor = ColPaliProcessor(images, PreTrainedTokenizerFast.from_pretrained(pali))
        yield "colpali", vectors(ColPali.from_pretrained(pali).eval(), processor, "Query: ")
        smol = engine_checkpoints.colsmol(folder / "colsmol")
        images = Idefics3ImageProcessorPil.from_pretrained(smol)
        processor = ColIdefics3Processor(images, PreTrainedTokenizerFast.from_pretrained(smol), image_seq_len=4)
        yield "colsmol", vectors(ColIdefics3.from_pretrained(smol).eval(), processor, "Query: ")
        newest = checkpoints.colqwen3_5(folder / "colqwen3.5")
        processor = processor_of(ColQwen3_5Processor, newest)
        yield "colqwen3.5", vectors(ColQwen3_5.from_pretrained(newest).eval(), processor, "")


if __name__ == "__main__":
    FILE.write_text(json.dumps(dict(recorded()), indent=1) + "\n")
