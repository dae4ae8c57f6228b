"""Signpost and a Pi-hole: annotated routes of the Gateway API in a folder become names that resolve."""

import json

import pytest

import harness
from piholes import PEOPLE, TARGET, gateway_of, route_of

KINDS = [("HTTPRoute", "v1"), ("GRPCRoute", "v1"), ("TLSRoute", "v1"), ("TLSRoute", "v1alpha2"),
         ("TCPRoute", "v1"), ("TCPRoute", "v1alpha2")]


def write(site, *objects):
    for item in objects:
        site.write(f"{item['metadata']['name']}.yaml", json.dumps(item))


def wait_synced(site, kind, name, hosts):
    site.wait(lambda: site.annotation(name, "managed-hosts", kind) == hosts,
              lambda: f"{kind} {name} has {hosts}: {site.statuses()}")


@pytest.mark.parametrize("kind, version", KINDS)
def test_a_route_resolves_and_goes_with_it(ingresses, pihole, kind, version):
    ingresses.start()
    if kind == "TCPRoute":
        made = route_of(kind, "app", version=version, hosts="app.home.lan")
    else:
        made = route_of(kind, "app", "app.home.lan", version=version)
    write(ingresses, made)
    pihole.wait_resolves("app.home.lan", [TARGET])
    wait_synced(ingresses, kind, "app", "app.home.lan")
    assert (ingresses.folder / "app.yaml").read_text().strip() == json.dumps(made)
    ingresses.drop("app")
    pihole.wait_resolves("app.home.lan", [])
    assert pihole.hosts == PEOPLE


def test_a_route_is_reached_at_the_addresses_of_its_gateway(ingresses, pihole):
    write(ingresses, gateway_of("edge"),
          route_of("HTTPRoute", "app", "app.home.lan", gateway="edge", target_ip="status"))
    ingresses.start()
    ingresses.wait(lambda: ingresses.annotation("app", "status", "HTTPRoute").startswith(
        "TargetsMissing: no Gateway that it names has an address yet"), "it waits for an address")
    write(ingresses, gateway_of("edge", "192.0.2.60", "fd00::60"))
    pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    pihole.wait_resolves("app.home.lan", ["fd00::60"], "AAAA")
    wait_synced(ingresses, "HTTPRoute", "app", "app.home.lan")
    assert ingresses.annotation("app", "status", "HTTPRoute") == ""


# Of two that were made in the same second the route counts as the older, by its group.
def test_the_older_of_a_route_and_an_ingress_has_the_name(ingresses, pihole):
    ingresses.start()
    write(ingresses, route_of("HTTPRoute", "first", "app.home.lan", target_ip="192.0.2.60"))
    pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    ingresses.add("second", "app.home.lan")
    ingresses.wait_told("second", "HostClaimed: app.home.lan: HTTPRoute default/first has it "
                        "with other targets")
    ingresses.drop("first")
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.wait_told("second", "")


def test_a_mistake_in_a_route_is_found_where_it_stands(ingresses):
    wrong = route_of("HTTPRoute", "app")
    wrong["spec"]["hostnames"] = "app.home.lan"
    write(ingresses, wrong)
    code, out, err = harness.run("check", ingresses.folder, "--controllers", "ingress",
                                 "--pihole-url", "http://127.0.0.1", "--pihole-no-password",
                                 "--default-target-ip", TARGET)
    assert code == 1 and "spec.hostnames: expected a list, found text" in out + err
