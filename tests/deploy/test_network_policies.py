"""Where pods may connect to, judged as a network plugin does, and held against the service's own table of addresses."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from service.media.fetch import address as table
from service.media.fetch.address import TUNNELS, WELL_KNOWN_NAT64, AddressClass, classify
from tests.deploy import rendered
from tests.deploy.rendered import OVERLAYS

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "172.15.255.255",
    "172.32.0.0",
    "2606:4700:4700::1111",
    "2a00:1450::8a",
]
NETWORKS = [*table._NEVER_IPV4, *table._PRIVATE_IPV4, *table._NEVER_IPV6, *TUNNELS]
OTHER = ["::1", "::ffff:10.0.0.1", "fe80::1", "fd12:3456::1", "fec0::1", "ff02::1", "::", "64:ff9b:1::a00:1"]

overlays = pytest.mark.parametrize("overlay", OVERLAYS)


def allows(policy: dict[str, Any], address: str, port: int) -> bool:
    """True if an egress policy lets a pod connect to an address outside of the cluster."""
    wanted = ip_address(address)
    for rule in policy["spec"]["egress"]:
        ports = {one["port"] for one in rule["ports"] if one["protocol"] == "TCP"}
        for block in (to["ipBlock"] for to in rule["to"] if "ipBlock" in to):
            is_inside = wanted in ip_network(block["cidr"])
            if port in ports and is_inside and not any(wanted in ip_network(one) for one in block["except"]):
                return True
    return False


def out(overlay: str) -> list[dict[str, Any]]:
    return [one for one in rendered.of_kind(overlay, "NetworkPolicy") if "Egress" in one["spec"]["policyTypes"]]


def opened(overlay: str) -> list[dict[str, Any]]:
    return [one for one in out(overlay) if any("ipBlock" in to for rule in one["spec"]["egress"] for to in rule["to"])]


@overlays
def test_every_pod_is_under_a_policy_in_both_directions(overlay: str) -> None:
    for template in rendered.pod_templates(overlay):
        labels = template["metadata"]["labels"].items()
        policies = rendered.of_kind(overlay, "NetworkPolicy")
        directions = {
            direction
            for one in policies
            if one["spec"]["podSelector"]["matchLabels"].items() <= labels
            for direction in one["spec"]["policyTypes"]
        }
        assert "Egress" in directions
        assert "Ingress" in directions or template["spec"]["restartPolicy"] == "OnFailure", "jobs listen nowhere"


def test_by_default_the_service_reaches_nobody() -> None:
    assert opened("cpu") == []
    base = rendered.named("cpu", "NetworkPolicy", "cenote")
    assert base["spec"].get("egress", []) == []


def test_images_by_url_reach_public_hosts() -> None:
    policies = opened("cuda")
    assert {one["metadata"]["name"] for one in policies} == {"cenote-media-by-url", "cenote-prefetch"}
    for policy in policies:
        assert [one for one in PUBLIC if not allows(policy, one, 443)] == []
        assert not allows(policy, PUBLIC[0], 22)


def test_no_policy_lets_through_what_the_service_would_not_connect_to() -> None:
    first_and_last = [str(end) for network in NETWORKS for end in (network[0], network[-1])]
    refused = [one for one in (*first_and_last, *OTHER) if classify(ip_address(one)) is not AddressClass.PUBLIC]
    assert len(refused) > 60
    for policy in opened("cuda"):
        assert [one for one in refused if allows(policy, one, 443)] == []
        assert not allows(policy, str(WELL_KNOWN_NAT64[0x0A000001]), 443), "10.0.0.1 by way of NAT64"
