"""What a request cost: one count for every route and every form of answer."""

from typing import Annotated

from msgspec import Meta

from schemas.base import Answer, Count


class Usage(Answer, frozen=True, kw_only=True):
    """What the request cost, summed over its items."""

    prompt_tokens: Annotated[
        Count, Meta(description="Tokens that the model read: text, template and pictures.", examples=[26])
    ]
    total_tokens: Annotated[Count, Meta(description="The same number; embeddings generate no tokens.", examples=[26])]
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
