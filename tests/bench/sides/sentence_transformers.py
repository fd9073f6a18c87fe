"""sentence-transformers' `encode` on the same checkpoint, in an environment of its own: nothing of ours is imported.

Its processor for Qwen3-VL wants torchvision, also for text. So the weights are loaded from the checkpoint and the
tokenizer from a copy beside it that says it is a text model's; the chat template is the checkpoint's, with the
`<|endoftext|>` that the model's own embedder appends. Any other checkpoint is loaded as it is. The bench compares the
vectors before it compares the times.

`python -m tests.bench.sides.sentence_transformers FOLDER THREADS`
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.pipe import answer_forever
from tests.bench.sides.text_worker import TextWorker

BATCH_SIZE = 32
ASSISTANT = "<|im_start|>assistant\\n'"
"""The end of the template's last string, as it stands in the file."""


class SentenceTransformersEncode(TextWorker):
    """`SentenceTransformer.encode`, which sorts by length and pads batches of 32."""

    def __init__(self, folder: str, num_threads: int) -> None:
        super().__init__()
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(num_threads)
        if json.loads((Path(folder) / "config.json").read_text())["model_type"] == "qwen3_vl":
            self._model = SentenceTransformer(modules=_qwen3_vl(folder), device="cpu")
        else:
            self._model = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": torch.float32})

    def embed(self, texts: Sequence[str]) -> Any:
        return self._model.encode(list(texts), batch_size=BATCH_SIZE, show_progress_bar=False)

    def num_tokens(self, label: str) -> int:
        return int(self._model.preprocess(self.texts[label])["attention_mask"].sum())

    def facts(self) -> dict[str, Any]:
        return versions()


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("sentence-transformers", "transformers", "torch")}


def _qwen3_vl(folder: str) -> list[Any]:
    import torch
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    with tempfile.TemporaryDirectory() as copy:
        transformer = Transformer(
            folder,
            tokenizer_name_or_path=tokenizer_beside(Path(folder), Path(copy)),
            model_kwargs={"dtype": torch.float32},
            processing_kwargs={"chat_template": {"add_generation_prompt": True}},
        )
    return [transformer, Pooling(transformer.get_embedding_dimension(), "lasttoken"), Normalize()]


def tokenizer_beside(folder: Path, copy: Path) -> str:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, copy)
    template = (folder / "chat_template.jinja").read_text()
    if template.count(ASSISTANT) != 1:
        raise ValueError("the chat template does not end as it is expected to")
    end = ASSISTANT.removesuffix("'") + "<|endoftext|>'"
    (copy / "chat_template.jinja").write_text(template.replace(ASSISTANT, end))
    (copy / "config.json").write_text(json.dumps({"model_type": "qwen3"}))
    return str(copy)


if __name__ == "__main__":
    answer_forever(lambda: SentenceTransformersEncode(sys.argv[1], int(sys.argv[2])))
