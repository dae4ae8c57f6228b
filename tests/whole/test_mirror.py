"""Ingresses of a folder: the Records that are made of them are objects to all commands."""

import json

import pytest

from harness import SIGNPOST, run, wait_until

GROUP = "kubi.zone/v1alpha1"
CHILDREN = ".signpost/children"
NAME = "web-www-shop-example-192-0-2-7"


def zone():
    return {"apiVersion": GROUP, "kind": "Zone", "metadata": {"name": "shop"},
            "spec": {"domainName": "shop.example.",
                     "delegations": [{"records": [{"pattern": "*"}]}],
                     "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]},
                                     {"name": "ns2", "addresses": ["198.51.100.53"]}]}}


def ingress(*hosts):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
            "spec": {"rules": [{"host": host} for host in hosts]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "m"
    made.mkdir()
    (made / "shop.yaml").write_text(json.dumps(zone()))
    (made / "web.yaml").write_text(json.dumps(ingress("www.shop.example")))
    return made


def start(programs, folder, *words):
    return programs.start("run", [SIGNPOST, "run", "--dir", folder, "--health-probe-bind-address",
                                  "0", "--metrics-bind-address", "0", *words])


def status(folder, *words):
    return run("status", "--dir", folder, *words)[1]


def wait_status(folder, name, state, *words):
    wait_until(lambda: [line for line in status(folder, *words).splitlines()
                        if name in line and f" {state} " in line],
               lambda: f"{name} {state}\n{status(folder, *words)}")


@pytest.mark.parametrize("is_apart", [False, True])
def test_a_made_record_is_an_object_to_all_commands(programs, folder, tmp_path, is_apart):
    words = ["--state-dir", tmp_path / "state"] if is_apart else []
    state = words[1] if is_apart else folder
    program = start(programs, folder, "--ingress-record-creation", *words)
    wait_status(folder, f"Record/default/{NAME}", "True", *words)
    assert "www 360    IN A" in run("zone", "render", "shop.example.", "--dir", folder, *words)[1]
    code, text, _ = run("check", "--dir", folder, *words)
    assert (code, text) == (0, "3 files, 3 objects: 0 errors, 0 warnings\n")
    assert run("zone", "check", "--dir", folder, *words)[0] == 0
    assert run("plan", "--dir", folder, *words, "--ingress-record-creation")[0] == 0
    assert (state / CHILDREN / f"records.default.{NAME}.yaml.status").exists()
    assert sorted(path.name for path in folder.glob("*.yaml")) == ["shop.yaml", "web.yaml"]

    # Without the flag it stays as it is.
    assert program.stop() == 0
    program = start(programs, folder, *words)
    wait_until(lambda: "zone is served" in program.tail(), "the zone is served")
    assert f"Record/default/{NAME}" in status(folder, *words)
    assert "www 360    IN A" in run("zone", "render", "shop.example.", "--dir", folder, *words)[1]


def test_records_go_with_their_ingress(programs, folder):
    start(programs, folder, "--ingress-record-creation")
    wait_status(folder, f"Record/default/{NAME}", "True")
    (folder / "web.yaml").unlink()
    wait_until(lambda: "Record/" not in status(folder), lambda: status(folder))
    wait_until(lambda: not list((folder / CHILDREN).iterdir()), "nothing is left of it")
    assert run("check", "--dir", folder)[1] == "1 file, 1 object: 0 errors, 0 warnings\n"


def test_what_people_add_to_a_made_record_stays(programs, folder):
    program = start(programs, folder, "--ingress-record-creation")
    wait_status(folder, f"Record/default/{NAME}", "True")
    path = folder / CHILDREN / f"records.default.{NAME}.yaml"
    before = path.read_text()
    assert program.stop() == 0
    path.write_text(before.replace("spec:", "spec:\n  ttl: 60").replace("192.0.2.7", "192.0.2.66"))
    program = start(programs, folder, "--ingress-record-creation")
    wait_until(lambda: "192.0.2.66" not in path.read_text(), path.read_text, programs=[program])
    assert path.read_text().splitlines() == before.replace("spec:", "spec:\n  ttl: 60").splitlines()
    wait_until(lambda: "www 60     IN A" in run("zone", "render", "shop.example.", "--dir",
                                                folder)[1], "it has that TTL")
