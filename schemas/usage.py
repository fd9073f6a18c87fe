"""The cost of a request: the same counts on every route and in every form of answer."""

from typing import Annotated

from msgspec import Meta

from schemas.base import Answer, Count


class PromptTokensDetails(Answer, frozen=True, kw_only=True):
    """`prompt_tokens` by modality: text, image, video and audio tokens add up to it.

    `cached_tokens` is a part of the same tokens, not a further modality.
    """

    text_tokens: Annotated[
        Count,
        Meta(
            description="Tokens of text, template and instruction, including the markers around media.", examples=[22]
        ),
    ]
    image_tokens: Annotated[Count, Meta(description="Tokens of images, without videos.", examples=[4])]
    video_tokens: Annotated[Count, Meta(description="Tokens of video frames.", examples=[0])]
    audio_tokens: Annotated[Count, Meta(description="Tokens of audio.", examples=[0])]
    cached_tokens: Annotated[
        Count,
        Meta(
            description="All tokens of inputs for which the model did not run: their vector was cached, or the same "
            "input was already being computed, for this request or another. An input counts as a whole. Features from "
            "the encoder cache do not count here, but in `encoder_cache_hits`.",
            examples=[0],
        ),
    ]


class Usage(Answer, frozen=True, kw_only=True):
    """The cost of the request, summed over its answered items; failed items count in `num_inputs` alone.

    A repeated item counts each time, from the second time on in `cached_tokens` as well.
    """

    prompt_tokens: Annotated[
        Count, Meta(description="Tokens that the model read: text, template and images.", examples=[26])
    ]
    total_tokens: Annotated[Count, Meta(description="The same number; no tokens are generated.", examples=[26])]
    completion_tokens: Annotated[Count, Meta(description="Always 0: no tokens are generated.", examples=[0])] = 0
    prompt_tokens_details: Annotated[
        PromptTokensDetails, Meta(description="`prompt_tokens` by modality, and the cached part.")
    ]
    num_inputs: Annotated[
        Count, Meta(description="Items of the request: of one for scores, its documents or pairs.", examples=[1])
    ]
    image_tokens: Annotated[
        Count, Meta(description="Tokens of images and videos, a part of `prompt_tokens`.", examples=[4])
    ]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Images and video frame pairs whose features were in the encoder cache.", examples=[1])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Images that the vision tower had to encode.", examples=[0])
    ]
    precomputed_images: Annotated[
        Count,
        Meta(description="Images sent as features, for which the vision tower does not run.", examples=[0]),
    ]
    truncated_inputs: Annotated[
        Count, Meta(description="Items whose text was cut off to fit the limit of tokens.", examples=[0])
    ]
