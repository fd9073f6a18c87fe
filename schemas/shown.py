"""What of a client's a refusal may repeat: a short name of plain signs; never a text, a URL or a key."""

import re

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.+*_:/-]{0,62}[A-Za-z0-9*+_])?")
"""Of a model on a hub, a media type, one of few values. No white space, no quote, nothing that is not ASCII."""

_KEY = re.compile(r"(?:sk|pk|rk|cen|hf|co)[-_]")
"""How API keys begin, ours among them (`service.front.key_file`)."""


def shown(value: str) -> str | None:
    """A value as a refusal may repeat it, quoted; None when it is not to be repeated.

    Args:
        value: what a client sent for a name, however long.
    """
    is_name = _NAME.fullmatch(value) and "//" not in value and _KEY.match(value) is None
    return f"'{value}'" if is_name else None
