"""All bytes that decide what a checkpoint's vectors are, as one digest: two models of one size and name differ.

A tree of SHA-256 over pieces, so that threads share gigabytes: they are read once more than loading reads them, and
wait for memory or the disk, not for one core. Imports no torch.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from service.checkpoint.colbert_modules import COLBERT_METADATA
from service.checkpoint.hub import CALIBRATION_FILE, CHOICE, TOKEN_HEADS
from service.checkpoint.sparse_files import CONFIG as ROUTER

DECISIVE = (
    *("config.json", "*.safetensors", "modules.json", "*/config.json", "*/model.safetensors", CHOICE),
    *("tokenizer.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json"),
    *("added_tokens.json", "special_tokens_map.json"),
    *("config_sentence_transformers.json", "sentence_*_config.json", CALIBRATION_FILE),
    *(COLBERT_METADATA, *TOKEN_HEADS),
    *(ROUTER, "query_*/tokenizer_config.json"),
    *("chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja", "special_tokens_map.json"),
)
"""Every file that the service reads anything from. Others may change without a vector that does."""
PIECE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20

FilePiece = tuple[Path, int]
"""A file, and where in it the piece starts."""


def content_digest(folder: Path, num_threads: int) -> bytes:
    """SHA-256 over names, sizes and the pieces' SHA-256, 32 bytes; whatever folder the files are in, it is the same.

    Args:
        num_threads: that read and hash side by side; they give Python's global lock up.

    Raises:
        OSError: a file cannot be read.
    """
    paths = sorted({path for pattern in DECISIVE for path in folder.glob(pattern)})
    pieces = [(path, start) for path in paths for start in range(0, max(path.stat().st_size, 1), PIECE_BYTES)]
    with ThreadPoolExecutor(num_threads, "digest") as pool:
        digests = list(pool.map(_hash, pieces))
    return _joined(folder, pieces, digests)


def _hash(piece: FilePiece) -> bytes:
    path, start = piece
    digest, block = hashlib.sha256(), bytearray(BLOCK_BYTES)
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        left = PIECE_BYTES
        while left and (num_bytes := file.readinto(memoryview(block)[: min(left, BLOCK_BYTES)])):
            digest.update(memoryview(block)[:num_bytes])
            left -= num_bytes
    return digest.digest()


def _joined(folder: Path, pieces: Sequence[FilePiece], digests: Sequence[bytes]) -> bytes:
    whole = hashlib.sha256()
    for (path, start), digest in zip(pieces, digests, strict=True):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0{start}\0".encode() + digest)
    return whole.digest()
