"""ZoneFiles of a folder: what stands in the ConfigMap when the text is too much for one."""

import json

from harness import SIGNPOST, wait_until

GROUP = "kubi.zone/v1alpha1"
MADE = ".signpost/made/configmaps.default.files.yaml"
LARGE = 20  # records of that size are more than 1 MiB


def made(kind, name, **spec):
    return json.dumps({"apiVersion": GROUP, "kind": kind,
                       "metadata": {"name": name, "namespace": "default"}, "spec": spec})


def record(number, text):
    return made("Record", f"r{number}", domainName=f"r{number}", zoneRef={"name": "shop"},
                type="TXT", rdata=text)


def test_a_config_map_that_would_be_too_large_keeps_its_last_text(programs, tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "zone.yaml").write_text("\n---\n".join([
        made("Zone", "shop", domainName="shop.example.",
             delegations=[{"records": [{"pattern": "*"}]}]),
        made("ZoneFile", "files", zoneRefs=[{"name": "shop", "namespace": "default"}])]))
    (folder / "r.yaml").write_text(record(0, "small"))
    programs.start("run", [SIGNPOST, "run", "--dir", folder, "--health-probe-bind-address", "0",
                           "--metrics-bind-address", "0"])

    def text():
        return (folder / MADE).read_text() if (folder / MADE).exists() else ""

    def says(reason):
        status = folder / "zone.yaml.status"
        return status.exists() and f"reason: {reason}\n" in status.read_text()

    wait_until(lambda: "small" in text() and says("Written"), "the text is written")
    (folder / "r.yaml").write_text("\n---\n".join(
        record(number, "x" * 60000) for number in range(LARGE)))
    wait_until(lambda: says("TooLarge"), "it is said to be too large")
    assert "small" in text() and "xxx" not in text()
    (folder / "r.yaml").write_text(record(1, "less"))
    wait_until(lambda: "less" in text() and says("Written"), "the text fits again")
    assert "small" not in text()
