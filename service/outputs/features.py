"""Features: what the vision tower makes of an image, to be sent instead of it later."""

from typing import ClassVar

from service.errors import MediaError
from service.media.item import ITEM_BYTES, TensorDtype
from service.outputs.ask import Needs, OutputAsk


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
