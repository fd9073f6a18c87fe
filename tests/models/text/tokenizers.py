"""Small tokenizers of each kind that text models have, out of the texts of `texts.py`."""

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE, WordPiece
from tokenizers.processors import TemplateProcessing

from tests.models.text.texts import TEXTS
from tests.pieces import count_words, unigram_tokenizer, word_pieces

NUM_TOKENS = 400
LLAMA_SPLIT = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def word_piece(specials: list[str], head: str, tail: str) -> Tokenizer:
    """BERT's: lower case, split at white space and signs, `[UNK]` for a word that has no pieces."""
    unk = next(token for token in specials if "unk" in token.lower())
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    pieces = [*specials, *word_pieces(count_words(TEXTS, normalizer, splitter), NUM_TOKENS)]
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=unk))
    tokenizer.add_special_tokens(specials)
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.WordPiece()
    return with_ends(tokenizer, head, tail)


def unigram(specials: list[str], head: str | None, tail: str) -> Tokenizer:
    """SentencePiece's as XLM-R has it: compatibility forms, one blank for many, `▁` before each word."""
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    splitter = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return with_ends(unigram_tokenizer(specials, TEXTS, normalizer, splitter, NUM_TOKENS), head, tail)


def byte_level(specials: list[str], head: str | None, tail: str | None, *, composes: bool = True) -> Tokenizer:
    """GPT-2's, as Qwen3, Llama 3 and ModernBERT have it."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC() if composes else None
    split = pre_tokenizers.Split(LLAMA_SPLIT, "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=NUM_TOKENS, special_tokens=specials, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return with_ends(tokenizer, head, tail)


def byte_fallback(specials: list[str], head: str | None, tail: str | None) -> Tokenizer:
    """Gemma's: `▁` for a blank, pairs merged over all of the text, bytes for what has no token."""
    learner = Tokenizer(BPE())
    learner.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(vocab_size=NUM_TOKENS, special_tokens=specials)
    learner.pre_tokenizer = pre_tokenizers.Split(Regex("▁+[^▁]*|[^▁]+"), "isolated")
    plain = [text.encode("ascii", "ignore").decode() for text in TEXTS]  # the trainer's own limit is not steady
    learner.train_from_iterator(plain, trainer)
    learned = learner.model.__getstate__()
    return with_ends(_gemma(learned, specials), head, tail)


def _gemma(state: bytes, specials: list[str]) -> Tokenizer:
    import json

    learned = json.loads(state)
    vocab: dict[str, int] = learned["vocab"]
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    merges = [tuple(pair) for pair in learned["merges"]]
    tokenizer = Tokenizer(BPE(vocab, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.add_special_tokens(specials)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def with_ends(tokenizer: Tokenizer, head: str | None, tail: str | None) -> Tokenizer:
    """The tokenizer with a post-processor that adds these tokens."""
    template = " ".join(part for part in (head, "$A", tail) if part)
    ends = [(token, tokenizer.token_to_id(token)) for token in {head, tail} if token]
    tokenizer.post_processor = TemplateProcessing(single=template, pair=f"{template} $B", special_tokens=ends)
    return tokenizer
