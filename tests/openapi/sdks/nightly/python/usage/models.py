"""The models that are served."""

from typing import assert_type

from cenote_client import Modality, ModelsApi, Pooling


def models_are_typed(api: ModelsApi) -> None:
    card = api.get_model(api.list_models().data[0].id)
    assert_type(card.pooling, Pooling)
    assert_type(card.matryoshka_dimensions, list[int] | None)
    assert Modality.IMAGE in card.modalities
