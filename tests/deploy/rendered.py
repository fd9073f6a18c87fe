"""Objects that `kubectl kustomize` makes of each overlay."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.tools import DEPLOY, run

K8S = DEPLOY / "k8s"
OVERLAYS = sorted(path.parent.name for path in (K8S / "overlays").glob("*/kustomization.yaml"))
COMPONENTS = sorted(path.parent.name for path in (K8S / "components").glob("*/kustomization.yaml"))

Object = dict[str, Any]


@cache
def text(overlay: str) -> str:
    """The manifests of an overlay, as they are applied."""
    return run("kubectl", "kustomize", K8S / "overlays" / overlay)


@cache
def objects(overlay: str) -> tuple[Object, ...]:
    """The same, one by one."""
    return tuple(yaml.safe_load_all(text(overlay)))


def of_kind(overlay: str, *kinds: str) -> list[Object]:
    """Those of some kinds."""
    return [one for one in objects(overlay) if one["kind"] in kinds]


def named(overlay: str, kind: str, name: str) -> Object:
    """The one of a kind that has a name; a generated name may end in a hash."""
    found = [one for one in of_kind(overlay, kind) if one["metadata"]["name"].startswith(name)]
    assert found, f"{overlay} has no {kind} {name}"
    return min(found, key=lambda one: len(one["metadata"]["name"]))


def pod_templates(overlay: str) -> list[Object]:
    """Everything that pods are made of, by Deployments and Jobs."""
    return [one["spec"]["template"] for one in of_kind(overlay, "Deployment", "Job")]


def settings_given(overlay: str) -> dict[str, str]:
    """The variables of the service's container."""
    container = named(overlay, "Deployment", "cenote")["spec"]["template"]["spec"]["containers"][0]
    refs = [one["configMapRef"]["name"] for one in container["envFrom"]]
    values = [one["data"] for one in of_kind(overlay, "ConfigMap") if one["metadata"]["name"] in refs]
    assert len(values) == len(refs)
    return {name: value for data in values for name, value in data.items()}


def write(overlay: str, folder: Path) -> Path:
    """A file with the manifests, for programs that take one."""
    path = folder / f"{overlay}.yaml"
    path.write_text(text(overlay))
    return path
