"""Features: what the vision tower makes of an image, to be sent instead of it later."""

from typing import ClassVar

from schemas.endpoints.image_embeds import ImageEmbedsRequest
from service.errors import MediaError
from service.media.item import ITEM_BYTES, TensorDtype
from service.outputs.ask import Asks, Needs, Offer, OutputAsk


class FeaturesAsk(OutputAsk, frozen=True, tag="features"):
    """The features of the prompt's only image, which need no forward.

    Attributes:
        dtype: their number format; it names the row.
        width: numbers of each token's.
    """

    kind: ClassVar[str] = "features"
    needs: ClassVar[Needs] = "nothing"
    is_uniform: ClassVar[bool] = False
    follows_tokens: ClassVar[bool] = True
    is_kept: ClassVar[bool] = False

    dtype: TensorDtype
    width: int

    def bytes_of(self, num_tokens: int, param: str, most: int) -> int:
        """Those of all visual tokens."""
        each = self.width * ITEM_BYTES[self.dtype]
        if num_tokens * each > most:
            message = (
                f"`{param}`: their features, {num_tokens} visual tokens of {each} bytes, take {num_tokens * each} "
                f"bytes; one answer may hold {most}. Send fewer images at once"
            )
            raise MediaError("media_too_large", message, param=param)
        return num_tokens * each


def image_embeds_ask(body: ImageEmbedsRequest, computed_in: TensorDtype, offer: Offer) -> FeaturesAsk:
    """Output of a request of `/v1/image_embeds`: without a number format in the model's own, or one that its file has.

    Args:
        computed_in: the model's own.
    """
    own: TensorDtype = "float32" if body.features_format == "npy" and computed_in == "bfloat16" else computed_in
    return FeaturesAsk(dtype=body.embed_dtype or own, width=offer.feature_width)


def features_dtype(asks: Asks) -> TensorDtype:
    """The number format of features, which are asked for alone."""
    (ask,) = asks
    assert isinstance(ask, FeaturesAsk)  # the scheduler makes a FeaturesStep of no other
    return ask.dtype
