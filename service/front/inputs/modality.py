"""Modalities of a model, in words, and the refusal of others."""

from collections.abc import Sequence
from typing import NoReturn

from service.errors import InputError
from service.prompt.profile.profile import Modality

NAMES: dict[Modality, str] = {"text": "text", "image": "images", "video": "videos", "audio": "audio"}


def refuse_modality(got: str, taken: Sequence[Modality], param: str, index: int | None = None) -> NoReturn:
    """Refuse a part by naming what the model takes.

    Args:
        got: what came, with its article.

    Raises:
        InputError: `unsupported_modality`, always.
    """
    names = [NAMES[one] for one in taken]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    only = " only" if len(names) == 1 else ""
    message = f"`{param}`: got {got}; this model takes {listed}{only}"
    raise InputError("unsupported_modality", message, param=param, index=index)
