"""`/v1/image_embeds` takes pictures and nothing else, and says so of a part without its type as of one with another."""

import pytest

from schemas.decode import decode
from schemas.image_embeds import ImageEmbedsRequest
from schemas.rule_error import RuleError


@pytest.mark.parametrize("kind", ["", '"type": "image_embeds", ', '"type": null, '])
def test_a_picture_has_the_type_of_one(kind: str) -> None:
    body = f'{{"images": [{{{kind}"image_url": {{"url": "data:image/png;base64,AAAA"}}}}]}}'
    with pytest.raises(RuleError) as caught:
        decode(body.encode(), ImageEmbedsRequest)
    assert "type" in str(caught.value)
    assert caught.value.param is not None
    assert caught.value.param.startswith("images[0]")
