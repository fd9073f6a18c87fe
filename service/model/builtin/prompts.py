"""The prompt of Qwen3-VL-Embedding as text. In: instruction, number of visual tokens, text. Out: the rendered string.

It does not know the tokenizer, which appends `<|endoftext|>`, the token that is pooled.
"""


def render(instruction: str, text: str = "", num_image_tokens: int = 0) -> str:
    """The rendered prompt of one item with at most one picture.

    Args:
        instruction: The system turn.
        text: The user's text; it stands after the picture.
        num_image_tokens: Visual tokens of the picture, 0 for none.

    Source: QwenLM/Qwen3-VL-Embedding, `src/models/qwen3_vl_embedding.py`.
    """
    media = f"<|vision_start|>{'<|image_pad|>' * num_image_tokens}<|vision_end|>" if num_image_tokens else ""
    return (
        f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
