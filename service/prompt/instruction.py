"""The reference's rule for instructions. Knows no template and no route."""

import unicodedata


def punctuate(instruction: str | None, default: str) -> str:
    """Strip an instruction and end it with punctuation; an empty one becomes the default.

    A full stop is added unless the last character's Unicode category starts with P: "Find images" becomes
    "Find images.", "find?" stays, and a trailing "+" or digit gains a full stop.

    Args:
        instruction: what the client gave, or None.
        default: the profile's default instruction, used as it is.

    Returns:
        The text of the system turn.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `format_model_input`; reference/qwen3-vl-embedding.md section 2.2.
    """
    stripped = (instruction or "").strip()
    if not stripped:
        return default
    return stripped if unicodedata.category(stripped[-1]).startswith("P") else stripped + "."
