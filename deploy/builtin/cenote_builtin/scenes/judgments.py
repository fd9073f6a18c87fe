"""The prompts of the small reranker: the template of Qwen3-VL-Reranker in three parts, one after the other.

Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `src/models/qwen3_vl_reranker.py`; a test compares with the service's own.
"""

from typing import Final

INSTRUCTION: Final = "Given a search query, retrieve relevant candidates that answer the query."
SYSTEM: Final = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
"""The same before every pair."""


def _side(text: str, num_image_tokens: int) -> str:
    media = f"<|vision_start|>{'<|image_pad|>' * num_image_tokens}<|vision_end|>" if num_image_tokens else ""
    return media + text


def render_query(instruction: str | None, text: str = "", num_image_tokens: int = 0) -> str:
    """Render what all pairs of one query have after `SYSTEM`: an image of so many visual tokens or none, then text."""
    return f"<Instruct>: {instruction or INSTRUCTION}<Query>:{_side(text, num_image_tokens)}\n<Document>:"


def render_document(text: str = "", num_image_tokens: int = 0) -> str:
    """A document and the rest of the prompt."""
    return f"{_side(text, num_image_tokens)}<|im_end|>\n<|im_start|>assistant\n"
