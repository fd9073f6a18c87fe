"""The tests' own tokenizers and weights: the same in each process, so that each run compares the same vectors."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PRINT = """
import hashlib, sys
from pathlib import Path
from tests.models.two_tower import tokenizers
from tests.models.two_tower.captions import CAPTIONS
from tests.models.text.checkpoints import BERT_TOKENS, GEMMA_TOKENS, LLAMA_TOKENS, ROBERTA_TOKENS, make_checkpoint
from tests.models.text.texts import TEXTS
from tests.models.text.tokenizers import byte_fallback, byte_level, unigram, word_piece

makers = (tokenizers.clip, tokenizers.wordpiece, tokenizers.xlm, tokenizers.t5, tokenizers.gemma)
print([make()(list(CAPTIONS))["input_ids"] for make in makers])
made = (
    word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
    unigram(ROBERTA_TOKENS, "<s>", "</s>"),
    byte_level(LLAMA_TOKENS, None, None),
    byte_fallback(GEMMA_TOKENS, "<bos>", "<eos>"),
)
print([[one.encode(text).ids for text in TEXTS] for one in made])

folder = make_checkpoint("gemma3_text", Path(sys.argv[1]) / "checkpoint")  # the family with modules after the model
for file in sorted(folder.rglob("*.safetensors")):
    print("weights", file.relative_to(folder), hashlib.sha256(file.read_bytes()).hexdigest())
"""


def test_two_processes_make_the_same_tokenizers_and_weights(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    commands = [[sys.executable, "-c", PRINT, str(folder)] for folder in folders]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    first, second = (process.communicate(timeout=120)[0] for process in both)
    assert len(first) > 1000
    assert first.count("\nweights ") == 3, "the transformer and two dense modules"
    assert first == second
