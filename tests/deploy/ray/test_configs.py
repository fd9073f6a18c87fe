"""Both Serve configs are what Ray's own schema takes, and name what there is."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
from ray.serve.schema import ServeDeploySchema

from cenote_ray import app
from cenote_ray.app import EMBEDDER, INGRESS, build
from service.settings.setting_sources import load_settings
from tests.deploy.ray.cluster import CONFIG

RAY_SERVICE = CONFIG.with_name("rayservice.yaml")


def serve_config(path: Path) -> Any:
    config = yaml.safe_load(path.read_text())
    return yaml.safe_load(config["spec"]["serveConfigV2"]) if "spec" in config else config


@pytest.mark.parametrize("path", [CONFIG, RAY_SERVICE], ids=lambda path: path.name)
def test_a_shipped_config_is_a_serve_config(path: Path) -> None:
    (application,) = ServeDeploySchema.model_validate(serve_config(path)).applications
    assert {one.name for one in application.deployments} == {INGRESS, EMBEDDER}
    load_settings({name: str(value) for name, value in application.args["settings"].items()}, {})


def test_each_of_several_models_has_a_deployment_of_its_own() -> None:
    tables = {"search": {"model": "builtin"}, "small": {"model": "builtin", "max_tokens": 64}}
    ingress = build({"settings": {"threads": 1, "models": tables}})._bound_deployment
    bound = [one._bound_deployment for one in ingress.init_args[1:]]
    assert [one.name for one in bound] == ["embedder-search", "embedder-small"]
    plans = [load_settings(one.init_args[0], {}).of_each_model[one.init_args[1]] for one in bound]
    assert [(one.served_name, one.max_tokens, one.threads) for one in plans] == [
        (("search",), 0, 1),
        (("small",), 64, 1),
    ]


def test_the_ring_tries_as_many_replicas_as_we_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "FALLBACKS", 1)  # not what the router takes by itself
    ingress = build({"settings": {"model": "builtin"}})._bound_deployment
    config = ingress.init_args[1]._bound_deployment._deployment_config.request_router_config
    router = object.__new__(ConsistentHashRouter)
    router._deployment_id = "embedder"
    router.initialize_state(**config.request_router_kwargs)
    assert router._num_fallback_replicas == 1
