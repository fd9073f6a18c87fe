"""The OpenAPI documents as they are released: files beside the packages in a checkout, inside `service` in a wheel."""

from functools import cache
from pathlib import Path


@cache
def released(name: str) -> bytes:
    """The bytes of `openapi.json` or `openapi-sdk.json`.

    Raises:
        FileNotFoundError: the release was built without it.
    """
    package = Path(__file__).parents[1]
    inside = package / name
    return (inside if inside.is_file() else package.parent / name).read_bytes()
