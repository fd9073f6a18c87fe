"""The compose files: valid, and true about the service."""

from typing import Any

import pytest
import yaml

from service.settings.setting_sources import PREFIX, load_settings
from service.settings.settings import Settings
from tests.deploy.tools import DEPLOY, run

FILES = sorted(DEPLOY.glob("compose*.yaml"))
MAIN: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = MAIN["services"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_follows_the_specification(path: Any) -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)


def test_without_a_profile_the_service_starts_alone() -> None:
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["cenote"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_its_settings_are_settings(path: Any) -> None:
    service = yaml.safe_load(path.read_text())["services"]["cenote"]
    given = {name: value for name, value in service["environment"].items() if name.startswith(PREFIX)}
    plain = {name: "valkey://valkey:6379/0" if value is None else _default(value) for name, value in given.items()}
    assert load_settings({}, plain) != Settings()


def _default(value: str) -> str:
    """The value of `${NAME:-value}` where NAME is not set."""
    return value.partition(":-")[2].removesuffix("}") if value.startswith("${") else value


def test_a_container_has_time_to_drain() -> None:
    settings = Settings()
    grace_s = int(SERVICES["cenote"]["stop_grace_period"].removesuffix("s"))
    assert grace_s >= settings.lame_duck_s + settings.drain_timeout_s + 5


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_gives_up_what_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("read_only", False) or name == "grafana", "Grafana writes where its image says"
    published = [port for port in service.get("ports", []) if not port.startswith("127.0.0.1:")]
    assert not published, "a port that other machines reach"


def test_prometheus_scrapes_the_port_that_the_service_has() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    target = config["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == [f"cenote:{SERVICES['cenote']['environment']['CENOTE_METRICS_PORT']}"]


def test_grafana_asks_the_prometheus_of_this_file_at_its_pace() -> None:
    path = DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yaml"
    source = yaml.safe_load(path.read_text())["datasources"][0]
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert source["url"] == "http://prometheus:9090"
    assert source["jsonData"]["timeInterval"] == config["global"]["scrape_interval"]
