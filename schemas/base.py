"""The two base classes of every wire type: requests are strict, answers are open.

msgspec does not hand `kw_only` down to subclasses, and type checkers do not hand `frozen` down, so every wire type
repeats `frozen=True, kw_only=True`.

`schemas` imports msgspec and the standard library only.
"""

from typing import Annotated

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something a client sends.

    `forbid_unknown_fields` turns a typo such as `dimension` into an error that names it, instead of a full-size vector
    with status 200. `frozen` makes a request safe to share between tasks. `kw_only` lets fields be ordered for reading.
    """


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Something the service sends. Open: fields may be added later, and strict clients must not break on them."""


Count = Annotated[int, msgspec.Meta(ge=0)]
"""A number of things, in an answer."""
