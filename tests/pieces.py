"""Vocabularies of small tokenizers, counted from a few texts: the same in each process.

The trainers of `tokenizers` walk hash maps, so ties fall another way each time, and vectors that a test compares would
be others in each run.
"""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from tokenizers import Tokenizer, decoders
from tokenizers.models import Unigram
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

MAX_PIECE_LENGTH = 4
INSIDE = "##"
"""Prefix, in WordPiece, of a piece that no word begins with."""


def count_words(texts: Iterable[str], normalizer: Normalizer, splitter: PreTokenizer) -> Counter[str]:
    """Count each word of the texts."""
    normalized = (normalizer.normalize_str(text) for text in texts)
    return Counter(word for text in normalized for word, _ in splitter.pre_tokenize_str(text))


def word_pieces(words: Counter[str], num_pieces: int) -> list[str]:
    """WordPiece's pieces: every character, and the most frequent of the longer ones."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for start, piece in _spans(word):
            counts[INSIDE * (start > 0) + piece] += count
    return _most_frequent(counts, num_pieces)


def unigram_tokenizer(
    specials: list[str], texts: Iterable[str], normalizer: Normalizer, splitter: PreTokenizer, num_pieces: int
) -> Tokenizer:
    """A Unigram tokenizer of SentencePiece's kind, whose special tokens come first."""
    scores = unigram_scores(count_words(texts, normalizer, splitter), num_pieces)
    unk_id = next(i for i, name in enumerate(specials) if "unk" in name.lower())
    tokenizer = Tokenizer(Unigram([*((name, 0.0) for name in specials), *scores], unk_id=unk_id))
    tokenizer.add_special_tokens(specials)
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def unigram_scores(words: Counter[str], num_pieces: int) -> list[tuple[str, float]]:
    """Unigram's pieces with the logarithms of how much of the texts they cover."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for _, piece in _spans(word):
            counts[piece] += count * len(piece)
    return [(piece, math.log(counts[piece] / counts.total())) for piece in _most_frequent(counts, num_pieces)]


def byte_pairs(words: Counter[str], end_of_word: str, num_merges: int) -> list[tuple[str, str]]:
    """BPE's merges: the most frequent pair of neighbors, again and again; of equally frequent ones the smallest.

    Source: Sennrich et al. 2016, Neural Machine Translation of Rare Words with Subword Units, algorithm 1.
    """
    split = {word: [*word[:-1], word[-1] + end_of_word] for word in words}
    merges: list[tuple[str, str]] = []
    while len(merges) < num_merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in split.items():
            for pair in pairwise(pieces):
                pairs[pair] += words[word]
        if not pairs:
            break
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        split = {word: _merged(pieces, merges[-1]) for word, pieces in split.items()}
    return merges


def _spans(word: str) -> Iterable[tuple[int, str]]:
    for start in range(len(word)):
        for end in range(start + 1, min(start + MAX_PIECE_LENGTH, len(word)) + 1):
            yield start, word[start:end]


def _most_frequent(counts: Counter[str], num_pieces: int) -> list[str]:
    ranked = sorted(counts, key=lambda piece: (len(piece.removeprefix(INSIDE)) > 1, -counts[piece], piece))
    return ranked[:num_pieces]


def _merged(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged
