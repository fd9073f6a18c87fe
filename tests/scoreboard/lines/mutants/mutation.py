"""Broken copies of a file: bytes changed, cut out, doubled, spliced; PNG checksums are sometimes made right again."""

import random
import zlib

INTERESTING = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
NUMBERS = tuple(
    number.to_bytes(size, order)
    for size in (2, 4)
    for order in ("little", "big")
    for number in (0, 1, 0x7FFF, 0xFFFF, 0x4001, 200)
)
HEADER_BYTES = 64
"""Where sizes and lengths stand: half of all changes go there."""


def mutate(draw: random.Random, seed: bytes, other: bytes) -> bytes:
    """A broken copy of `seed`, perhaps with a piece of `other` in it."""
    mutant = bytearray(seed)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        _change(draw, mutant, other)
    if seed[1:4] == b"PNG" and draw.random() < 0.7:
        return _with_checksums(bytes(mutant))
    return bytes(mutant)


def _change(draw: random.Random, mutant: bytearray, other: bytes) -> None:
    if not mutant:
        return
    place = draw.randrange(min(len(mutant), HEADER_BYTES) if draw.random() < 0.5 else len(mutant))
    length = draw.choice((1, 2, 4, 8, draw.randrange(1, 64)))
    match draw.randrange(9):
        case 0 | 1:
            mutant[place] = draw.randrange(256)
        case 2:
            mutant[place] = draw.choice(INTERESTING)
        case 3:
            mutant[place] ^= 1 << draw.randrange(8)
        case 4:
            number = draw.choice(NUMBERS)
            mutant[place : place + len(number)] = number
        case 5:
            del mutant[place : place + length]
        case 6:
            mutant[place:place] = mutant[place : place + length] * draw.choice((1, 1, 2, 30))
        case 7:
            start = draw.randrange(len(other))
            mutant[place : place + length] = other[start : start + length]
        case _:
            del mutant[draw.randrange(len(mutant)) :]


def _with_checksums(file: bytes) -> bytes:
    chunks, place = [file[:8]], 8
    while place + 12 <= len(file):
        num_bytes = int.from_bytes(file[place : place + 4], "big")
        body = file[place + 4 : place + 8 + num_bytes]
        chunks += [file[place : place + 4], body, zlib.crc32(body).to_bytes(4, "big")]
        place += 12 + num_bytes
    return b"".join(chunks) + file[place:]
