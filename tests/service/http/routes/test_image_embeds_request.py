"""`/v1/image_embeds` takes images and nothing else, and says so of a part without its type as of one with another."""

import pytest

from schemas.endpoints.image_embeds import ImageEmbedsRequest
from schemas.errors import RuleError
from schemas.parsing.decode import decode


@pytest.mark.parametrize("kind", ["", '"type": "image_embeds", ', '"type": null, '])
def test_an_image_has_the_type_of_one(kind: str) -> None:
    body = f'{{"images": [{{{kind}"image_url": {{"url": "data:image/png;base64,AAAA"}}}}]}}'
    with pytest.raises(RuleError) as caught:
        decode(body.encode(), ImageEmbedsRequest)
    assert "type" in str(caught.value)
    assert caught.value.param is not None
    assert caught.value.param.startswith("images[0]")
