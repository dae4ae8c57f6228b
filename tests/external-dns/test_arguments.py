"""What `signpost check` passes, external-dns takes: its own parser reads the arguments of
`signpost render`, and its own checks judge them. It ends where it looks for a cluster."""

import concurrent.futures
import json
import os
import re
import subprocess

import pytest
import yaml

from records import all_records

SIGNPOST = os.environ["SIGNPOST"]
NOWHERE = "/nowhere/kubeconfig"
LEAST = 300


def render(path, version):
    """{name of a record: its container}, of those that have no error."""
    result = subprocess.run([SIGNPOST, "render", "--owner-id", "1a2b3c4d", "--external-dns-image",
                             "external-dns:x", "--external-dns-version", version, path],
                            capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode in (0, 1), result.stderr[-2000:]
    deployments = [document for document in yaml.load_all(result.stdout, yaml.CSafeLoader)
                   if document["kind"] == "Deployment"]
    return {item["metadata"]["labels"]["app.kubernetes.io/instance"].rsplit("-", 1)[0]:
            item["spec"]["template"]["spec"]["containers"][0] for item in deployments}


def environment_of(container):
    """That of the container; what stands in a Secret is made up."""
    return {entry["name"]: entry.get("value", "c2VjcmV0") for entry in container.get("env", [])}


def last_line(program, arguments, environment):
    """Its last log line, when it has ended."""
    result = subprocess.run([program, *arguments], env=environment, text=True, check=False,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=300)
    return result.stdout.strip().splitlines()[-1]


def verdict(program, container):
    """None: external-dns took the arguments; else what it says."""
    arguments = [re.sub(r"^--metrics-address=.*", "--metrics-address=127.0.0.1:0",
                        argument.replace("$$", "$")) for argument in container["args"]]
    line = last_line(program, [*arguments, f"--kubeconfig={NOWHERE}"], environment_of(container))
    return None if f"stat {NOWHERE}: no such file" in line else line


@pytest.fixture(scope="module")
def containers(external_dns, tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "records.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": all_records()}))
    return render(path, external_dns[0])


def test_every_vector_is_taken(external_dns, containers):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = dict(zip(containers, pool.map(
            lambda container: verdict(external_dns[1], container), containers.values())))
    refused = {name: line for name, line in verdicts.items() if line}
    records = {record["metadata"]["name"]: record["spec"] for record in all_records()}
    shown = [f"{records[name]}: {line}" for name, line in refused.items()]
    assert not refused, "\n".join(shown[:20])
    assert len(verdicts) >= LEAST


def test_a_wrong_vector_is_told_from_a_good_one(external_dns, containers):
    container = containers["r0"]
    for wrong in ("--no-such-flag", "--policy=sync", "--log-level=loud"):
        assert verdict(external_dns[1], {**container, "args": [*container["args"], wrong]})


def test_no_secret_is_an_argument(containers):
    for container in containers.values():
        assert not [argument for argument in container["args"] if "tsig-secret=" in argument]
        for entry in container.get("env", []):
            assert ("value" in entry) != ("valueFrom" in entry)


def imported(folder, deployment):
    """The record that `signpost import` makes of a Deployment, or None where it is not all said."""
    path = folder / "deployment.yaml"
    path.write_text(json.dumps(deployment))
    result = subprocess.run([SIGNPOST, "import", "external-dns", path], capture_output=True,
                            text=True, check=False, timeout=60)
    return yaml.load(result.stdout, yaml.CSafeLoader) if result.returncode == 0 else None


def test_what_is_rendered_is_imported_as_it_was(external_dns, containers, tmp_path):
    version, _ = external_dns
    arguments = {}
    for name, container in containers.items():
        deployment = {"kind": "Deployment", "metadata": {"name": name, "namespace": "edge-shop"},
                      "spec": {"template": {"spec": {"containers": [
                          {**container, "image": f"external-dns:{version}"}]}}}}
        record = imported(tmp_path, deployment)
        if record:
            record["spec"]["version"] = version
            arguments[name] = (container["args"], record)
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List",
                                "items": [record for _, record in arguments.values()]}))
    again = render(path, version)
    label = re.compile(r"^--label-filter=.*")
    for name, (before, _) in arguments.items():
        after = again[name]["args"]
        assert [label.sub("", word) for word in after] == [label.sub("", word) for word in before]
    assert len(arguments) >= LEAST / 3
