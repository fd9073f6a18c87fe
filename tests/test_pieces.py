"""The tests' own tokenizers: the same in each process, so that a test compares the same vectors in each run."""

import subprocess
import sys

PRINT = """
from tests.two_towers import tokenizers
from tests.two_towers.captions import CAPTIONS
from tests.text_models.checkpoints import BERT_TOKENS, GEMMA_TOKENS, LLAMA_TOKENS, ROBERTA_TOKENS
from tests.text_models.texts import TEXTS
from tests.text_models.tokenizers import byte_fallback, byte_level, unigram, word_piece

makers = (tokenizers.clip, tokenizers.wordpiece, tokenizers.xlm, tokenizers.t5, tokenizers.gemma)
print([make()(list(CAPTIONS))["input_ids"] for make in makers])
made = (
    word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
    unigram(ROBERTA_TOKENS, "<s>", "</s>"),
    byte_level(LLAMA_TOKENS, None, None),
    byte_fallback(GEMMA_TOKENS, "<bos>", "<eos>"),
)
print([[one.encode(text).ids for text in TEXTS] for one in made])
"""


def test_two_processes_make_the_same_tokenizers() -> None:
    command = [sys.executable, "-c", PRINT]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=120)[0] for process in both)
    assert len(first) > 1000
    assert first == second
