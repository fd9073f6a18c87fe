"""The Kubernetes manifests as kustomize renders them: valid by bundled schemas, and true about the service."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.front.hub.engine_keeper import LOAD_S
from service.settings.setting_sources import load_settings
from service.settings.settings import Settings, SettingsError
from tests.deploy import rendered
from tests.deploy.rendered import K8S, OVERLAYS, Object
from tests.deploy.tools import run

KUBERNETES = "1.32"
"""The oldest version that the manifests are held against; the newest is the tool's own."""
OWN_SCHEMAS = {"ServiceMonitor", "PrometheusRule", "ScaledObject"}
"""Kinds that Kubernetes itself does not have; schemas/ has what we use of them."""
CACHES = ("encoder_cache", "result_cache", "uuid_store", "media_memory", "pixel_arena", "max_queue", "max_features")
PROCESS_BYTES = 1 << 30
"""Python, torch and a small model in front and engine."""

overlays = pytest.mark.parametrize("overlay", OVERLAYS)


def test_there_is_an_overlay_for_each_processor_and_each_component_is_used() -> None:
    assert {"cpu", "cuda"} <= set(OVERLAYS)
    used = "".join((K8S / "overlays" / one / "kustomization.yaml").read_text() for one in OVERLAYS)
    assert [one for one in rendered.COMPONENTS if f"components/{one}\n" not in used] == []


@overlays
@pytest.mark.parametrize("version", [KUBERNETES, None])
def test_every_object_follows_the_schema_of_its_kind(overlay: str, version: str | None, tmp_path: Path) -> None:
    path = tmp_path / "core.yaml"
    core = [one for one in rendered.objects(overlay) if one["kind"] not in OWN_SCHEMAS]
    path.write_text(yaml.safe_dump_all(core))
    run("kubernetes-validate", "--strict", *(["-k", version] if version else []), path)


@overlays
def test_every_custom_object_follows_our_schema(overlay: str, tmp_path: Path) -> None:
    custom = rendered.of_kind(overlay, *OWN_SCHEMAS)
    assert custom
    for one in custom:
        path = tmp_path / "object.json"
        path.write_text(json.dumps(one))
        run("check-jsonschema", "--schemafile", K8S / "schemas" / f"{one['kind'].lower()}.json", path)


@overlays
def test_every_pod_runs_with_as_little_as_it_can(overlay: str) -> None:
    for template in rendered.pod_templates(overlay):
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False, "CENOTE_PORT=tcp://... would end the start"
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 10_000
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            allowed = container["securityContext"]
            assert allowed["readOnlyRootFilesystem"] is True
            assert allowed["allowPrivilegeEscalation"] is False
            assert allowed["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            assert container["image"].rpartition(":")[2] not in (container["image"], "latest"), "no version"


@pytest.mark.parametrize("variable", ["CENOTE_PORT=tcp://10.0.0.1:80", "CENOTE_SERVICE_HOST=10.0.0.1"])
def test_the_variables_of_service_links_would_indeed_end_the_start(variable: str) -> None:
    name, _, value = variable.partition("=")
    with pytest.raises(SettingsError, match=name):
        load_settings({}, {name: value})


@overlays
def test_the_settings_are_settings(overlay: str) -> None:
    settings = load_settings({}, rendered.settings_given(overlay))
    assert settings.host == "0.0.0.0"
    assert settings.device == overlay
    assert settings.api_keys is not None


@overlays
def test_ports_and_probes_are_those_of_the_settings(overlay: str) -> None:
    settings = load_settings({}, rendered.settings_given(overlay))
    container = _container(overlay)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": settings.port, "metrics": settings.metrics_port}
    paths = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}
    assert paths == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/livez"}


@overlays
def test_a_pod_has_time_to_load_and_to_drain(overlay: str) -> None:
    settings = load_settings({}, rendered.settings_given(overlay))
    deployment = rendered.named(overlay, "Deployment", "cenote")["spec"]
    grace_s = deployment["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s >= settings.lame_duck_s + settings.drain_timeout_s + 5
    startup = _container(overlay)["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] > LOAD_S
    assert deployment["progressDeadlineSeconds"] > LOAD_S


@overlays
def test_memory_is_more_than_what_the_budgets_add_up_to(overlay: str) -> None:
    settings = load_settings({}, rendered.settings_given(overlay))
    budgets = {name: value for name, value in _numbers(settings).items() if name.endswith("_bytes")}
    held = sum(value for name, value in budgets.items() if name.startswith(CACHES))
    held += 4 * settings.max_decode_bytes  # images, videos, audio files, PDFs
    held += settings.host_cache_bytes if settings.device == "cuda" else 0
    limit = _container(overlay)["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    assert int(limit.removesuffix("Gi")) << 30 > held + PROCESS_BYTES


@overlays
def test_what_is_referred_to_by_labels_ports_and_names_is_there(overlay: str) -> None:
    deployment = rendered.named(overlay, "Deployment", "cenote")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    service = rendered.named(overlay, "Service", "cenote")
    disruption = rendered.named(overlay, "PodDisruptionBudget", "cenote")["spec"]
    for selector in (deployment["spec"]["selector"], disruption["selector"]):
        assert selector["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    ports = {port["name"] for port in _container(overlay)["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    claims = {one["metadata"]["name"] for one in rendered.of_kind(overlay, "PersistentVolumeClaim")}
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one} <= claims
    mounted = {mount["name"] for mount in _container(overlay)["volumeMounts"]}
    assert mounted == {volume["name"] for volume in volumes}
    assert {one["metadata"].get("namespace") for one in rendered.objects(overlay)} == {"cenote"}


@overlays
def test_the_operator_scrapes_this_service_under_the_name_that_rules_know(overlay: str) -> None:
    monitor = rendered.named(overlay, "ServiceMonitor", "cenote")["spec"]
    service = rendered.named(overlay, "Service", "cenote")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "cenote"
    assert {one["port"] for one in monitor["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
    dashboard = rendered.named(overlay, "ConfigMap", "cenote-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["cenote.json"])["title"] == "Cenote"


@overlays
def test_one_autoscaler_scales_the_deployment_on_the_queue(overlay: str) -> None:
    scalers = rendered.of_kind(overlay, "HorizontalPodAutoscaler", "ScaledObject")
    assert len(scalers) == 1
    assert scalers[0]["spec"]["scaleTargetRef"]["name"] == "cenote"
    assert "cenote_queue_tokens" in json.dumps(scalers[0])
    assert "replicas" not in rendered.named(overlay, "Deployment", "cenote")["spec"], "an apply would undo its work"
    behavior = _find(scalers[0], "scaleDown")
    assert behavior["stabilizationWindowSeconds"] >= 600


def test_secrets_are_named_and_never_given() -> None:
    for overlay in OVERLAYS:
        assert rendered.of_kind(overlay, "Secret") == []
        secrets = [one["secret"]["secretName"] for one in _spec(overlay)["volumes"] if "secret" in one]
        assert "cenote-api-keys" in secrets


def _spec(overlay: str) -> Object:
    spec: Object = rendered.named(overlay, "Deployment", "cenote")["spec"]["template"]["spec"]
    return spec


def _container(overlay: str) -> Object:
    container: Object = _spec(overlay)["containers"][0]
    return container


def _numbers(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__struct_fields__}


def _find(tree: Any, key: str) -> Any:
    """The value of a key, wherever it stands; None when nowhere."""
    if isinstance(tree, dict):
        return tree[key] if key in tree else _find(list(tree.values()), key)
    found = (_find(one, key) for one in tree) if isinstance(tree, list) else iter(())
    return next((one for one in found if one is not None), None)
