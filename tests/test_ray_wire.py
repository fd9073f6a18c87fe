"""Messages between two machines of Ray Serve, pickled as Ray does; the cluster itself is `make ray`'s."""

import pickle

from cenote_ray.wire import Ask
from service.front.tenant import SERVICE
from service.media.features.features import FeaturesItem
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Placeholder, Prompt


def test_features_go_as_bytes_and_are_read_as_they_were() -> None:
    item = FeaturesItem(memoryview(bytes(range(128))), "float32", b"n" * 32, (1, 2, 2))
    seen = Prompt(TokenPlan([7, 8, 9], num_masked=1), (Placeholder(1, 1, (1, 2, 2), item),), truncated=True)
    plain = Prompt(TokenPlan([1]), (), truncated=False)
    ask: Ask = pickle.loads(pickle.dumps(Ask.of([seen, plain], (DenseAsk(dimensions=8),), SERVICE)))
    assert ask.read() == [seen, plain]
    assert ask.read()[0].placeholders[0].item.data == item.data  # type: ignore[attr-defined]  # not compared above
    assert isinstance(ask.prompts[0].placeholders[0].item.data, bytes)  # type: ignore[attr-defined]
