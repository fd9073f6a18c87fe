"""A sentence-transformers checkpoint as one graph, in the runtimes that people deploy such graphs in, in process.

sentence-transformers' own backends do not install with the transformers that the other sides have (optimum-onnx wants
one below 5, optimum-intel below 5.6). So the graphs are made here, of its modules. In their favor, there is less around
them than in those backends: pooling and normalization are nodes of the graph, and numpy pads the batches, of 32, sorted
by length in tokens. Float32, also where a runtime would choose bfloat16 by itself.

`python -m tests.bench.sides.exported FOLDER THREADS RUNTIME`
"""

import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tests.bench.pipe import answer_forever
from tests.bench.sides.text_worker import TextWorker

BATCH_SIZE = 32

Forward = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Unit vectors [batch, dimensions] of token ids and mask [batch, tokens]."""


class ExportedGraph(TextWorker):
    """Texts to vectors with a tokenizer, a graph, and nothing between them."""

    def __init__(self, folder: str, num_threads: int, runtime: str) -> None:
        super().__init__()
        self._runtime = runtime
        self._tokenizer = tokenizer_of(Path(folder))
        self._forward = RUNTIMES[runtime](folder, num_threads)

    def num_tokens(self, label: str) -> int:
        return sum(len(encoding.ids) for encoding in self._tokenizer.encode_batch(self.texts[label]))

    def facts(self) -> dict[str, Any]:
        from importlib.metadata import version

        return {self._runtime: version(self._runtime)}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        prompts = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
        batches = [order[start : start + BATCH_SIZE] for start in range(0, len(order), BATCH_SIZE)]
        found = np.concatenate([self._forward(*padded([prompts[place] for place in batch])) for batch in batches])
        rows = np.empty_like(found)
        rows[order] = found
        return rows


def tokenizer_of(folder: Path) -> Tokenizer:
    """The checkpoint's tokenizer, cutting where sentence-transformers cuts; padding is left to the batch."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    return tokenizer


def padded(prompts: Sequence[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids, zero after each prompt's own, and their mask; both int64 [batch, longest]."""
    lengths = np.array([len(prompt) for prompt in prompts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate(prompts)
    return ids, mask.astype(np.int64)


def _in_onnxruntime(folder: str, num_threads: int) -> Forward:
    """From the exporter whose graph it runs fastest, a tenth faster than torch.export's; its session optimizes that."""
    import onnxruntime
    import torch

    graph, sizes = io.BytesIO(), {0: "batch", 1: "tokens"}
    torch.onnx.export(
        _modules(folder), _example(), graph, dynamo=False, input_names=["ids", "mask"],
        dynamic_axes={"ids": sizes, "mask": sizes},
    )  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    session = onnxruntime.InferenceSession(graph.getvalue(), options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})[0]


def _in_openvino(folder: str, num_threads: int) -> Forward:
    """Converted from the modules themselves, as optimum-intel does, and tuned for latency, as that does."""
    import openvino

    graph = openvino.convert_model(_modules(folder), example_input=_example())
    settings = {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": num_threads,
    }  # fmt: skip
    request = openvino.compile_model(graph, "CPU", settings).create_infer_request()
    return lambda ids, mask: request.infer([ids, mask], share_inputs=True)[0]


RUNTIMES = {"onnxruntime": _in_onnxruntime, "openvino": _in_openvino}
"""By the package of each."""


def _modules(folder: str) -> Any:
    """The checkpoint's transformer, pooling and normalization as one module of token ids and mask."""
    import torch
    from sentence_transformers import SentenceTransformer

    class Modules(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            plain = {"dtype": torch.float32, "attn_implementation": "eager"}  # runtimes fuse its operations themselves
            self.model = SentenceTransformer(folder, device="cpu", model_kwargs=plain)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
            return self.model(features)["sentence_embedding"]

    return Modules().eval()


def _example() -> tuple[Any, Any]:
    """A batch with padding in it, so that the mask is not taken for one that can be left out."""
    import torch

    ids, mask = padded([[101, 2023, 2003, 102], [101, 102]])
    return torch.from_numpy(ids), torch.from_numpy(mask)


if __name__ == "__main__":
    answer_forever(lambda: ExportedGraph(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
