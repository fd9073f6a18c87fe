"""Small tokenizers of each kind that two-tower models have, out of the captions of `captions.py`."""

import json

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE
from tokenizers.processors import TemplateProcessing
from transformers import (
    BertTokenizer,
    CLIPTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Siglip2Tokenizer,
)

from tests.models.two_tower.captions import CAPTIONS
from tests.pieces import byte_pairs, count_words, unigram_tokenizer, word_pieces

NUM_TOKENS = 700
CLIP_SPLIT = Regex(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")


def clip() -> PreTrainedTokenizerBase:
    """CLIP's: bytes, lower case, `</w>` after a word; the end token has the largest number, as in the original."""
    splitter = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(CLIP_SPLIT, "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    merges = byte_pairs(count_words(CAPTIONS, normalizer, splitter), "</w>", num_merges=250)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learned = ["".join(pair) for pair in merges]
    pieces = [*alphabet, *(f"{one}</w>" for one in alphabet), *learned, "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges, model_max_length=77)


def wordpiece() -> PreTrainedTokenizerBase:
    """BERT's, with a piece for each Chinese character, as Chinese-CLIP has it."""
    normalizer = normalizers.BertNormalizer(lowercase=True)
    words = count_words(CAPTIONS, normalizer, pre_tokenizers.BertPreTokenizer())
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *word_pieces(words, NUM_TOKENS)]
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, model_max_length=52)


def xlm() -> PreTrainedTokenizerBase:
    """XLM-V's kind, which MetaCLIP 2 has: pieces by probability, `<s>` and `</s>` around."""
    return _wrapped(_unigram(["<s>", "<pad>", "</s>", "<unk>"], lower_case=False), "<s> $A </s>", pad_token="<pad>")


def t5() -> PreTrainedTokenizerBase:
    """SigLIP's kind: lower case without punctuation, `</s>` after, which is also the padding."""
    return _wrapped(_unigram(["<pad>", "</s>", "<unk>"], lower_case=True), "$A </s>", pad_token="</s>")


def gemma() -> PreTrainedTokenizerBase:
    """SigLIP 2's: pairs merged over all of the text, bytes for what has no token, `<eos>` after."""
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    learner = Tokenizer(BPE())
    learner.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "▁")])
    learner.pre_tokenizer = pre_tokenizers.Split(Regex("▁+[^▁]*|[^▁]+"), "isolated")
    plain = [
        caption.encode("ascii", "ignore").decode() for caption in CAPTIONS
    ]  # the trainer's own limit is not steady
    learner.train_from_iterator(plain, trainers.BpeTrainer(vocab_size=400, special_tokens=specials))
    learned = json.loads(learner.to_str())["model"]
    vocab = dict(learned["vocab"])
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    merges = [tuple(pair) for pair in learned["merges"]]
    tokenizer = Siglip2Tokenizer(vocab=vocab, merges=merges, model_max_length=64, padding_side="right")
    _end_with(tokenizer.backend_tokenizer, "$A <eos>")
    return tokenizer


def _unigram(specials: list[str], *, lower_case: bool) -> Tokenizer:
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
    if lower_case:
        steps = [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[!-/:-@\[-`{-~]"), ""),
            *steps,
            normalizers.Strip(),
        ]
    normalizer, splitter = normalizers.Sequence(steps), pre_tokenizers.Metaspace()
    return unigram_tokenizer(specials, CAPTIONS, normalizer, splitter, NUM_TOKENS)


def _wrapped(tokenizer: Tokenizer, template: str, **names: str) -> PreTrainedTokenizerBase:
    _end_with(tokenizer, template)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>", **names)


def _end_with(tokenizer: Tokenizer, template: str) -> None:
    ends = [(token, tokenizer.token_to_id(token)) for token in template.split() if token != "$A"]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=ends)
