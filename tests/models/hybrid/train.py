"""Trains the small BGE-M3 of `tests/models/hybrid/scenes`: searches for named sheets with drawn scenes, by their texts.

`python -m tests.models.hybrid.train FOLDER`, some minutes on one core. Dense, sparse and token vectors are trained
together by contrast with the sheets of a batch that do not answer, as BGE-M3 was (Chen et al. 2024, arXiv 2402.03216,
section 3.3). It was not trained on the scenes that the tests search: they are the held-out ones.
"""

import argparse
import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Unigram
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

from cenote_builtin.scenes.captions import caption, pick
from cenote_builtin.scenes.questions import Question, ask_contained
from cenote_builtin.scenes.scenes import Scene, sample_scene
from tests.models.text.checkpoints import RECIPES, ROBERTA_NAMES, ROBERTA_TOKENS, Recipe, sentence_transformer
from tests.models.text.tokenizers import with_ends

WIDTH, NUM_LAYERS, NUM_HEADS, MAX_TOKENS = 64, 2, 4, 96
BATCH, NUM_STEPS, RATE = 48, 1500, 2e-3
TEMPERATURE = 0.05
SPARSE_SCALE = 0.2
"""Factor of a sparse score: it is a sum of products, and no cosine."""


SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A drawn scene with a name, which nothing in the scene tells."""

    name: str
    scene: Scene
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """A question, by the name of a sheet or by some of what its scene shows."""

    text: str
    name: str | None
    shown: Question

    def holds(self, sheet: Sheet) -> bool:
        """True if the sheet is an answer."""
        return self.shown.holds(sheet.scene) if self.name is None else sheet.name == self.name


def pairs(num: int, rng: np.random.Generator, *, held_out: bool) -> tuple[list[Search], list[Sheet]]:
    """Searches, of which each is answered by the sheet in its place: in turn by what it shows and by its name."""
    scenes = [sample_scene(rng, held_out=held_out) for _ in range(num)]
    names = ["".join(SYLLABLES[place] for place in rng.integers(len(SYLLABLES), size=3)) for _ in scenes]
    sheets = [
        Sheet(name, scene, f"{name}: {caption(scene, 'whole', rng)}") for name, scene in zip(names, scenes, strict=True)
    ]
    searches = []
    for number, sheet in enumerate(sheets):
        shown = ask_contained(sheet.scene, rng, told=True)
        words, name = shown.text or "", sheet.name if number % 2 else None
        searches.append(Search(words if name is None else pick(rng, (name, f"{words} of {name}")), name, shown))
    return searches, sheets


def tokenizer() -> PreTrainedTokenizerFast:
    """XLM-R's kind, whose pieces are the words of captions and questions, and letters for others."""
    searches, sheets = pairs(2000, np.random.default_rng(5), held_out=False)
    names = {sheet.name for sheet in sheets}
    texts = [each.text for each in (*searches, *sheets)]
    words = Counter(word for text in texts for word in re.findall(r"[a-z0-9]+|[^a-z0-9 ]", text) if word not in names)
    pieces = {piece: count for word, count in words.items() for piece in (f"▁{word}", word)}
    pieces |= {piece: 100 for syllable in SYLLABLES for piece in (f"▁{syllable}", syllable)}
    pieces |= dict.fromkeys(["▁", *string.ascii_lowercase, *string.digits], 1)
    scores = [(piece, math.log(count / words.total())) for piece, count in pieces.items()]
    made = Tokenizer(Unigram([*((name, 0.0) for name in ROBERTA_TOKENS), *scores], unk_id=3))
    made.add_special_tokens(ROBERTA_TOKENS)
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=with_ends(made, "<s>", "</s>"), **ROBERTA_NAMES)


class Hybrid(torch.nn.Module):
    """The encoder and both heads, as `FlagEmbedding` has them."""

    def __init__(self, num_tokens: int) -> None:
        super().__init__()
        sizes = {"vocab_size": num_tokens, "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH}
        sizes |= {"num_hidden_layers": NUM_LAYERS, "num_attention_heads": NUM_HEADS}
        sizes |= {"max_position_embeddings": MAX_TOKENS + 2, "type_vocab_size": 1, "pad_token_id": 1}
        sizes |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        self.encoder = XLMRobertaModel(XLMRobertaConfig(**sizes, bos_token_id=0, eos_token_id=2))
        self.sparse = torch.nn.Linear(WIDTH, 1)
        self.colbert = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Dense `[batch, width]`, sparse `[batch, vocabulary]`, of tokens `[batch, tokens - 1, width]` with zeros."""
        hidden = self.encoder(ids, mask).last_hidden_state
        weights = self.sparse(hidden)[..., 0].relu() * mask * (ids >= len(ROBERTA_TOKENS))
        sparse = torch.zeros(len(ids), self.encoder.config.vocab_size).scatter_reduce(1, ids, weights, "amax")
        tokens = functional.normalize(self.colbert(hidden[:, 1:]), dim=-1) * mask[:, 1:, None]
        return functional.normalize(hidden[:, 0], dim=-1), sparse, tokens


def loss_of(scores: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each search's own sheet against those that do not answer it."""
    own = torch.eye(len(scores), dtype=torch.bool)
    return functional.cross_entropy(scores.masked_fill(answers & ~own, -torch.inf), torch.arange(len(scores)))


def step_loss(model: Hybrid, made: PreTrainedTokenizerFast, rng: np.random.Generator) -> torch.Tensor:
    """The loss of a fresh batch: of each kind of vector alone, and of all together."""
    searches, sheets = pairs(BATCH, rng, held_out=False)
    answers = torch.tensor([[search.holds(sheet) for sheet in sheets] for search in searches])
    inputs = made([each.text for each in (*searches, *sheets)], padding=True, return_tensors="pt")
    dense, sparse, tokens = model(inputs["input_ids"], inputs["attention_mask"])
    by_dense = dense[:BATCH] @ dense[BATCH:].T / TEMPERATURE
    by_sparse = sparse[:BATCH] @ sparse[BATCH:].T * SPARSE_SCALE / TEMPERATURE
    best = torch.einsum("qid,cjd->qcij", tokens[:BATCH], tokens[BATCH:]).amax(-1).sum(-1)
    by_tokens = best / (tokens[:BATCH].norm(dim=-1) > 0).sum(-1, keepdim=True) / TEMPERATURE
    each = [loss_of(scores, answers) for scores in (by_dense, by_sparse, by_tokens)]
    return torch.stack([*each, loss_of(by_dense + 0.3 * by_sparse + by_tokens, answers)]).sum()


def train(num_steps: int = NUM_STEPS) -> tuple[Hybrid, PreTrainedTokenizerFast]:
    """The model after so many steps, from seeds."""
    torch.manual_seed(1)
    rng, made = np.random.default_rng([20261124, 1]), tokenizer()
    model = Hybrid(len(made))
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=num_steps, pct_start=0.1)
    for step in range(num_steps):
        loss = step_loss(model, made, rng)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    return model.eval(), made


def save(model: Hybrid, made: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write the checkpoint in BGE-M3's form."""
    stock = folder.parent / f"{folder.name}-stock"
    model.encoder.save_pretrained(stock)
    made.save_pretrained(stock)
    recipe = RECIPES["xlm_roberta"]
    changed = Recipe(recipe.config, recipe.tokenizer, recipe.names, pooling="cls", max_seq_length=MAX_TOKENS)
    sentence_transformer(changed, stock, WIDTH).save_pretrained(str(folder))
    for name, head in (("sparse_linear", model.sparse), ("colbert_linear", model.colbert)):
        torch.save(head.state_dict(), folder / f"{name}.pt")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description="Train the small BGE-M3 of drawn scenes.")
    parser.add_argument("folder", type=Path)
    torch.set_num_threads(1)
    save(*train(), parser.parse_args(arguments).folder)


if __name__ == "__main__":
    main()
