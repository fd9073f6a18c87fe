"""Sizes as people write them: `1GiB`, `1GB`, `1.5gb`."""

import re
from decimal import Decimal
from typing import Final

UNITS: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DECIMAL_UNITS: Final = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
BY_LOWER_NAME: Final = {unit.lower(): size for unit, size in (UNITS | DECIMAL_UNITS).items()}


def plain_bytes(text: str) -> str:
    """`2GiB`, `2GB` or `1.5 gb` as a number of bytes; anything else unchanged."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower())
    size = BY_LOWER_NAME.get(match[2]) if match else None
    return str(int(Decimal(match[1]) * size)) if match and size else text
