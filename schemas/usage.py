"""What a request cost: one count for every route and every form of answer."""

from typing import Annotated

from msgspec import Meta

from schemas.base import Answer, Count


class PromptTokensDetails(Answer, frozen=True, kw_only=True):
    """`prompt_tokens` by modality: text, image, video and audio tokens add up to it.

    `cached_tokens` are counted there too: which tokens they are is another question than what they stand for.
    """

    text_tokens: Annotated[
        Count, Meta(description="Text, template and instruction, the marks around media included.", examples=[22])
    ]
    image_tokens: Annotated[Count, Meta(description="Tokens that stand for images; not for videos.", examples=[4])]
    video_tokens: Annotated[Count, Meta(description="Tokens that stand for frames of videos.", examples=[0])]
    audio_tokens: Annotated[Count, Meta(description="Tokens that stand for audio.", examples=[0])]
    cached_tokens: Annotated[
        Count,
        Meta(
            description="All tokens of inputs for which the model did not run: their vector was kept, or the same "
            "input was under way, in this request or another. An input counts whole or not at all. Features from the "
            "encoder cache alone make no token cached: `encoder_cache_hits` tells of them.",
            examples=[0],
        ),
    ]


class Usage(Answer, frozen=True, kw_only=True):
    """What the request cost, summed over its answered items: an item that failed counts in `num_inputs` alone.

    An item that comes twice counts twice, the second time in `cached_tokens` too.
    """

    prompt_tokens: Annotated[
        Count, Meta(description="Tokens that the model read: text, template and pictures.", examples=[26])
    ]
    total_tokens: Annotated[Count, Meta(description="The same number; embeddings generate no tokens.", examples=[26])]
    prompt_tokens_details: Annotated[
        PromptTokensDetails, Meta(description="`prompt_tokens` by modality, and those of them that were cached.")
    ]
    num_inputs: Annotated[
        Count, Meta(description="Items of the request: the number of entries in `data`.", examples=[1])
    ]
    image_tokens: Annotated[
        Count, Meta(description="Those of `prompt_tokens` that stand for pictures and videos.", examples=[4])
    ]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Pictures and pairs of frames whose features were in the encoder cache.", examples=[1])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Pictures that the vision tower had to encode.", examples=[0])
    ]
    precomputed_images: Annotated[
        Count,
        Meta(description="Pictures that came as features, for which the vision tower has nothing to do.", examples=[0]),
    ]
