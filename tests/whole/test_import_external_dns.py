"""signpost import external-dns: the record that asks for an external-dns that runs."""

import subprocess

import pytest
import yaml

import harness

DEPLOYMENT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: external-dns, namespace: dns}
spec:
  template:
    spec:
      containers:
      - {name: proxy, image: proxy:1, args: [--verbose]}
      - name: external-dns
        image: registry.example/external-dns:v0.21.0
        args:
        - --source=crd
        - --provider=aws
        - --policy=upsert-only
        - --domain-filter=a.example
        - --domain-filter=b.example
        - --aws-batch-change-size=100
        - --no-aws-evaluate-target-health
        - --txt-owner-id=my-cluster
        - --txt-prefix=$$own.
        - --exclude-record-types=TXT
        env:
        - {name: AWS_REGION, value: eu-central-1}
        - name: AWS_SECRET_ACCESS_KEY
          valueFrom: {secretKeyRef: {name: aws, key: secret}}
        - {name: EXTERNAL_DNS_LOG_LEVEL, value: debug}
"""


def import_file(path):
    """(exit code, the record, stderr)"""
    result = subprocess.run([harness.SIGNPOST, "import", "external-dns", path], text=True,
                            capture_output=True, check=False, timeout=60)
    return result.returncode, yaml.safe_load(result.stdout), result.stderr


def import_text(tmp_path, text, name="words"):
    path = tmp_path / name
    path.write_text(text)
    return import_file(path)


def test_a_deployment_becomes_a_record(tmp_path):
    code, record, err = import_text(tmp_path, DEPLOYMENT.replace("$$own.", "own."), "d.yaml")
    assert (code, err) == (0, "")
    assert record["metadata"] == {"name": "external-dns", "namespace": "dns"}
    assert record["spec"] == {
        "provider": "aws", "version": "v0.21.0", "image": "registry.example/external-dns:v0.21.0",
        "adoptOwner": "my-cluster",
        "external-dns-parameters": {
            "policy": "upsert-only", "domain-filter": ["a.example", "b.example"],
            "aws-batch-change-size": 100, "aws-evaluate-target-health": False,
            "txt-prefix": "own.", "log-level": "debug"},
        "extraArgs": [{"name": "exclude-record-types", "value": "TXT"}],
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "secretRefs": [{"target": "env:AWS_SECRET_ACCESS_KEY", "name": "aws", "key": "secret"}]}


def test_what_breaks_a_rule_is_told(tmp_path):
    code, record, err = import_text(tmp_path, DEPLOYMENT, "d.yaml")
    assert code == 1
    assert record["spec"]["external-dns-parameters"]["txt-prefix"] == "$own."
    assert "spec.external-dns-parameters.txt-prefix" in err


def test_a_command_line_is_read_as_external_dns_reads_it(tmp_path):
    code, record, err = import_text(
        tmp_path, "external-dns --provider coredns \\\n  --source=service --coredns-prefix /x/ "
        "--dry-run --registry noop --policy=sync\n")
    assert code == 1
    assert "source: names come from DNSEndpoints" in err
    assert record["spec"]["provider"] == "coredns"
    assert record["spec"]["adoptOwner"] == "default"
    assert record["spec"]["external-dns-parameters"] == {
        "coredns-prefix": "/x/", "dry-run": True, "registry": "noop", "policy": "sync"}


def test_a_secret_is_not_printed(tmp_path):
    code, record, err = import_text(
        tmp_path, "--provider=rfc2136 --source=crd --rfc2136-tsig-secret=cGxhbnRlZA== "
        "--pihole-password hunter2")
    text = str(record) + err
    assert code == 1
    assert "cGxhbnRlZA" not in text and "hunter2" not in text
    assert "rfc2136-tsig-secret: a secret stands in plain text" in err


@pytest.mark.parametrize("words", [
    "--provider=godaddy --godaddy-api-key=hunter2", "--provider=exoscale --exoscale-apikey hunter2",
    "--provider=aws --dry-run hunter2", "--provider=aws --policy sync hunter2"])
def test_no_word_that_may_be_a_secret_is_printed(tmp_path, words):
    code, record, err = import_text(tmp_path, words)
    assert code == 1
    assert "hunter2" not in str(record) + err


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "CF_API_TOKEN",
                                  "EXTERNAL_DNS_RFC2136_TSIG_SECRET",
                                  "EXTERNAL_DNS_PIHOLE_PASSWORD"])
def test_no_variable_that_may_be_a_secret_is_printed(tmp_path, name):
    text = DEPLOYMENT.replace("$$own.", "own.") + f"        - {{name: {name}, value: hunter2}}\n"
    code, record, err = import_text(tmp_path, text, "d.yaml")
    assert code == 1
    assert "hunter2" not in str(record) + err
    assert name in err or "rfc2136-tsig-secret" in err


def test_a_variable_in_an_argument_is_told_without_the_rest_of_it(tmp_path):
    code, record, err = import_text(
        tmp_path, DEPLOYMENT.replace("$$own.", "own.").replace("my-cluster", "$(X)hunter2"),
        "d.yaml")
    assert code == 1
    assert "argument 8: a variable stands in it" in err and "hunter2" not in err


def test_each_flag_becomes_what_its_parameter_is(tmp_path):
    _, record, _ = import_text(
        tmp_path, "--provider=aws --publish-internal-services --combine-fqdn-annotation --once "
        "--service-type-filter=ClusterIP --service-type-filter=NodePort --domain-filter=a.example "
        "--no-dry-run --aws-prefer-cname=false")
    assert record["spec"]["external-dns-parameters"] == {
        "publish-internal-services": True, "combine-fqdn-annotation": True, "once": True,
        "service-type-filter": ["ClusterIP", "NodePort"], "domain-filter": "a.example",
        "dry-run": False, "aws-prefer-cname": False}


def test_the_tag_is_told_from_a_port_and_a_digest(tmp_path):
    for image, version in (("registry.example:5000/external-dns", None),
                           ("registry.example:5000/external-dns:v0.21.0@sha256:ab", "v0.21.0")):
        _, record, _ = import_text(
            tmp_path, DEPLOYMENT.replace("registry.example/external-dns:v0.21.0", image), "d.yaml")
        assert record["spec"]["image"] == image
        assert record["spec"].get("version") == version


def test_what_is_no_external_dns_says_so(tmp_path):
    for name, text, words in (("d.yaml", "kind: Pod\n", "--provider"), ("d.yaml", "a: [", "d.yaml"),
                              ("words", "", "spec.provider")):
        code, _, err = import_text(tmp_path, text, name)
        assert code and words in err
    assert import_file(tmp_path / "none")[0] == 2
