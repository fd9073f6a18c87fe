"""The tokenizer of the built-in model: byte-level BPE with Qwen's pre-tokenizer and special tokens.

Trained on the caption generator and on the language reference that Python ships. It appends `<|endoftext|>`.
"""

import json
from collections.abc import Iterator
from typing import Final

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import ASPECTS, sample_scene

VOCAB_SIZE: Final = 1792
SPECIAL: Final = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
END: Final = "<|endoftext|>"

_NUM_CAPTIONED_SCENES: Final = 4000
_SPLIT: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _corpus(seed: int) -> Iterator[str]:
    """Prompt text, captions of training scenes, and plain English from Python's own help topics."""
    from pydoc_data.topics import topics

    rng = np.random.default_rng([seed, 0])
    words = [*instructions.CANONICAL.values(), instructions.QUERY, "system\n", "user\n", "assistant\n"]
    for wordings in instructions.PARAPHRASES.values():
        words.extend(wordings)
    yield from words * 50
    for _ in range(_NUM_CAPTIONED_SCENES):
        scene = sample_scene(rng, held_out=False)
        yield from (caption(scene, aspect, rng) for aspect in ASPECTS)
    yield from topics.values()


def train_tokenizer(seed: int) -> Tokenizer:
    """Train the vocabulary and put the post-processor on that appends `<|endoftext|>`.

    Source: the pre-tokenizer pattern is Qwen2's; the post-processor is the released tokenizer's, as far as is known.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(_SPLIT), "isolated"), byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(seed), trainer)
    tokenizer.add_special_tokens(list(SPECIAL))
    append_end = processors.TemplateProcessing(
        single=f"$A {END}",
        pair=f"$A {END} $B {END}",
        special_tokens=[(END, special_ids(tokenizer)[END])],
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), append_end])
    return tokenizer


def judging_tokenizer(embedders: Tokenizer) -> Tokenizer:
    """The reranker's: the embedder's, which has no token `yes`, with it in the place of the last one that was learned.

    Nothing is appended to a prompt, as by the released reranker's.
    """
    content = json.loads(embedders.to_str())
    vocab, merges = content["model"]["vocab"], content["model"]["merges"]
    last = "".join(merges[-1])
    vocab["yes"] = vocab.pop(last)
    merges[-1] = ["y", "es"]
    content["post_processor"] = json.loads(processors.ByteLevel(trim_offsets=False).__getstate__())
    return Tokenizer.from_str(json.dumps(content))


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Id of each special token, by its text."""
    vocabulary = tokenizer.get_vocab()
    return {token: vocabulary[token] for token in SPECIAL}
