"""Small tokenizers of each kind that two-tower models have, trained on the captions of `captions.py`."""

import json

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.processors import TemplateProcessing
from transformers import (
    BertTokenizer,
    CLIPTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Siglip2Tokenizer,
)

from tests.two_towers.captions import CAPTIONS

NUM_TOKENS = 700
CLIP_SPLIT = Regex(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")


def clip() -> PreTrainedTokenizerBase:
    """CLIP's: bytes, lower case, `</w>` behind a word; the end token has the largest number, as in the original."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learner = Tokenizer(BPE(end_of_word_suffix="</w>"))
    learner.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(CLIP_SPLIT, "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    trainer = trainers.BpeTrainer(vocab_size=NUM_TOKENS, initial_alphabet=alphabet, end_of_word_suffix="</w>")
    learner.train_from_iterator(CAPTIONS, trainer)
    learned = json.loads(learner.to_str())["model"]
    vocab = {token: i for i, token in enumerate([*alphabet, *(f"{one}</w>" for one in alphabet)])}
    for token in learned["vocab"]:
        vocab.setdefault(token, len(vocab))
    for token in ("<|startoftext|>", "<|endoftext|>"):
        vocab[token] = len(vocab)
    merges = [tuple(pair) for pair in learned["merges"]]
    return CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=77)


def wordpiece() -> PreTrainedTokenizerBase:
    """BERT's, with a piece for each Chinese character, as Chinese-CLIP has it."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    learner = Tokenizer(WordPiece(unk_token="[UNK]"))
    learner.normalizer = normalizers.BertNormalizer(lowercase=True)
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    learner.train_from_iterator(CAPTIONS, trainers.WordPieceTrainer(vocab_size=NUM_TOKENS, special_tokens=specials))
    return BertTokenizer(vocab=learner.get_vocab(), model_max_length=52)


def xlm() -> PreTrainedTokenizerBase:
    """XLM-V's kind, which MetaCLIP 2 has: pieces by probability, `<s>` and `</s>` around."""
    return _wrapped(_unigram(["<s>", "<pad>", "</s>", "<unk>"], lower_case=False), "<s> $A </s>", pad_token="<pad>")


def t5() -> PreTrainedTokenizerBase:
    """SigLIP's kind: lower case without punctuation, `</s>` behind, which is also the padding."""
    return _wrapped(_unigram(["<pad>", "</s>", "<unk>"], lower_case=True), "$A </s>", pad_token="</s>")


def gemma() -> PreTrainedTokenizerBase:
    """SigLIP 2's: pairs merged over all of the text, bytes for what has no token, `<eos>` behind."""
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
    tokenizer = Tokenizer(Unigram())
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
    if lower_case:
        steps = [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[!-/:-@\[-`{-~]"), ""),
            *steps,
            normalizers.Strip(),
        ]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=NUM_TOKENS, special_tokens=specials, unk_token="<unk>")
    tokenizer.train_from_iterator(CAPTIONS, trainer)
    return tokenizer


def _wrapped(tokenizer: Tokenizer, template: str, **names: str) -> PreTrainedTokenizerBase:
    _end_with(tokenizer, template)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>", **names)


def _end_with(tokenizer: Tokenizer, template: str) -> None:
    ends = [(token, tokenizer.token_to_id(token)) for token in template.split() if token != "$A"]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=ends)
