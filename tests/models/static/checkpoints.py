"""Small random static models, saved by model2vec and by sentence-transformers, and laid out as they were released.

model2vec is imported where it is used: most folders of other tests need none of it.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer

from tests.models.text.checkpoints import BERT_TOKENS, ROBERTA_TOKENS
from tests.models.text.tokenizers import byte_level, unigram, word_piece
from tests.models.weights import change_json

WIDTH = 48
OLD = "sentence_transformers.models"


def rows(num: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((num, WIDTH)).astype(np.float32)


def model2vec(make: Callable[[], Tokenizer], folder: Path, **more: Any) -> Path:
    """A folder as `StaticModel.save_pretrained` writes it, with the keys that potion's config.json has."""
    from model2vec import StaticModel
    from model2vec.model import quantize_model

    tokenizer = make()
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "tokenizer_name": "baai/bge-base-en-v1.5"}
    config |= {"apply_pca": WIDTH, "apply_zipf": True, "hidden_dim": WIDTH, "seq_length": 1_000_000}
    quantized = {key: more.pop(key) for key in ("vocabulary_quantization", "quantize_to") if key in more}
    given: dict[str, Any] = {"normalize": True} | more
    model = StaticModel(rows(tokenizer.get_vocab_size()), tokenizer, config, **given)
    quantize_model(model, **quantized).save_pretrained(folder)
    return folder


def with_weights(folder: Path) -> Path:
    """Rows shared by tokens, as vocabulary quantization makes them, without its clustering."""
    from model2vec import StaticModel

    tokenizer = unigram(ROBERTA_TOKENS, "<s>", "</s>")
    num, draw = tokenizer.get_vocab_size(), np.random.default_rng(3)
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "sif_coefficient": 0.0001, "pooling": "mean"}
    weights, mapping = draw.uniform(0.1, 2, num).astype(np.float32), draw.integers(0, 90, num)
    StaticModel(rows(90), tokenizer, config, weights=weights, token_mapping=mapping).save_pretrained(folder)
    return folder


def static_embedding(folder: Path, *more: torch.nn.Module, is_new: bool = False, **about: Any) -> Path:
    """A folder of sentence-transformers: as release 6 writes it, or as static-retrieval-mrl-en-v1 lies on the hub."""
    tokenizer = word_piece(BERT_TOKENS, "[CLS]", "[SEP]")
    embedding = StaticEmbedding(tokenizer, embedding_weights=rows(tokenizer.get_vocab_size()))
    SentenceTransformer(modules=[embedding, *more], device="cpu", **about).save_pretrained(str(folder))
    if is_new:
        return folder
    place = folder / "0_StaticEmbedding"
    place.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.move(folder / name, place / name)
    (folder / "modules.json").write_text(
        f'[{{"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "{OLD}.StaticEmbedding"}}]'
    )
    return folder


def potion(folder: Path) -> Path:
    """As potion-base-8M, with a tokenizer_config.json that model2vec does not read."""
    found = model2vec(lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"), folder)
    change_json(
        found / "tokenizer_config.json", tokenizer_class="BertTokenizer", do_lower_case=False, model_max_length=7
    )
    return found


def _dense() -> Sequence[torch.nn.Module]:
    torch.manual_seed(5)
    return Dense(WIDTH, 36), Normalize()


FOLDERS: dict[str, Callable[[Path], Path]] = {
    "potion": potion,
    "potion, unigram": lambda folder: model2vec(
        lambda: unigram(ROBERTA_TOKENS, "<s>", "</s>"), folder, normalize=False, max_length=20
    ),
    "potion, byte level": lambda folder: model2vec(lambda: byte_level(["<|endoftext|>"], None, None), folder),
    "potion in int8": lambda folder: model2vec(
        lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"), folder, quantize_to="int8"
    ),
    "mapped and weighed": with_weights,
    "static-retrieval": static_embedding,
    "of release 6, with Dense": lambda folder: static_embedding(
        folder, *_dense(), is_new=True, prompts={"query": "query: ", "document": ""}
    ),
    "cut": lambda folder: static_embedding(folder, is_new=True, truncate_dim=40),
}


def reference(folder: Path) -> Any:
    """What encodes a folder: by its form model2vec or sentence-transformers."""
    if not (folder / "config.json").exists():
        return SentenceTransformer(str(folder), device="cpu")
    from model2vec import StaticModel

    return StaticModel.from_pretrained(folder)
