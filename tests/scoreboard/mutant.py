"""Mutants of bytes: a few random changes to something that was right."""

import random
from collections.abc import Sequence

NUM_CHANGES = (1, 1, 1, 1, 2, 4)


def mutate(dice: random.Random, seed: bytes, words: Sequence[bytes]) -> bytes:
    """A seed with one to four changes.

    Args:
        dice: decides everything.
        seed: what was right.
        words: what to put in, beside random bytes.
    """
    mutant = bytearray(seed)
    for _ in range(dice.choice(NUM_CHANGES)):
        at = dice.randrange(len(mutant) + 1)
        until = min(len(mutant), at + dice.choice((0, 1, 1, 2, 8, 64)))
        kind = dice.randrange(5)
        if kind == 0:
            mutant[at:until] = b""
        elif kind == 1:
            mutant[at:until] = dice.choice(words)
        elif kind == 2:
            mutant[at:at] = mutant[at:until] * dice.randint(1, 8)
        elif kind == 3:
            mutant[at:until] = dice.randbytes(until - at)
        else:
            del mutant[at:]
            mutant += seed[dice.randrange(len(seed)) :]
    return bytes(mutant)
