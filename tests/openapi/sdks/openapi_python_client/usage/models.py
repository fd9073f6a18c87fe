"""The models that are served."""

from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.models import get_model, list_models
from cenote_client.models import Modality, ModelCard, ModelList, Pooling


def models_are_typed(client: AuthenticatedClient) -> None:
    models = list_models.sync(client=client)
    assert isinstance(models, ModelList)
    card = get_model.sync(models.data[0].id, client=client)
    assert isinstance(card, ModelCard)
    assert_type(card.pooling, Pooling)
    assert_type(card.matryoshka_dimensions, list[int] | None)
    assert_type(card.modalities, list[Modality])
    assert Modality.IMAGE in card.modalities
