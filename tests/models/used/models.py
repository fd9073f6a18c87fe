"""The models that people serve most in 2026."""

from collections.abc import Mapping

from tests.models.used.embedders import EMBEDDERS
from tests.models.used.media import OF_TOKENS, SPARSE, WITH_MEDIA
from tests.models.used.rerankers import RERANKERS
from tests.models.used.row import Used

USED: Mapping[str, list[Used]] = {
    "text": EMBEDDERS,
    "images, audio and video": WITH_MEDIA,
    "vectors of tokens": OF_TOKENS,
    "sparse vectors": SPARSE,
    "rerankers": RERANKERS,
}
"""By what they give."""
