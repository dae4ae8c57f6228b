"""docs/guide/start.md, on-a-cluster.md, zones- and pihole-on-a-cluster.md, installing-chart.md and
upgrade.md, done as they say on a real API server."""

import base64
import contextlib
import os
import re
import shutil

import pytest

import build
import clusters
import guide
import harness
from harness import LOOPBACK, ROOT, SIGNPOST
from piholes import ingress_of
from pods import Pod

PAGE = ROOT / "docs" / "guide" / "on-a-cluster.md"
PORTS = (7100, 8080, 8081, 8082, 8083, 9443, 9444)
ZONES_PAGE = ROOT / "docs" / "guide" / "zones-on-a-cluster.md"
ZONES_END = "## Away with it"
KNOTD = shutil.which("knotd", path=f"{os.environ['PATH']}:/usr/sbin")
CHART_PAGE = ROOT / "docs" / "guide" / "installing-chart.md"
PIHOLE_PAGE = ROOT / "docs" / "guide" / "pihole-on-a-cluster.md"
KEY = b"the provider's key, 32 octets ok"


@pytest.fixture
def cluster(own_cluster):
    return own_cluster(has_controllers=True).start()


@pytest.fixture
def shell(cluster, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    made = guide.Shell(folder, {"signpost": SIGNPOST, "knotd": KNOTD,
                                "kubectl": build.CURRENT.path("kubectl"),
                                "helm": build.HELM.path("helm")},
                       KUBECONFIG=str(cluster.admin_kubeconfig))
    yield made
    made.end()


@pytest.fixture
def page(shell, programs):
    """With a provider as the page supposes it: its address, and its key in a file."""
    made = guide.Guide(PAGE, shell, PORTS)
    (shell.folder / "hmac.key").write_bytes(KEY)
    programs.start("provider", [SIGNPOST, "provider", "--backend", "memory", "--hmac-secret-file",
                                shell.folder / "hmac.key", "--listen",
                                f"{LOOPBACK}:{made.port(7100)}"])
    harness.wait_until(lambda: harness.is_listening(made.port(7100)), "the provider listens")
    return made


def test_the_page_works_as_written(page, cluster):
    page.follow()
    client = harness.Client(page.port(7100), KEY)
    assert client.get("A", "home.example", "www").status == 404
    assert cluster.api.get("Namespace", "signpost") is None


def test_ten_minutes_are_as_written(shell):
    guide.Guide(ROOT / "docs" / "guide" / "start.md", shell, (5301, *PORTS)).follow()


def test_the_page_on_the_chart_works_as_written(cluster, shell):
    shutil.copytree(ROOT / "deploy", shell.folder / "deploy")
    (shell.folder / "overlay").mkdir()
    guide.Guide(CHART_PAGE, shell, PORTS).follow()


def test_a_cluster_is_upgraded_as_written(shell):
    shutil.copytree(ROOT / "deploy", shell.folder / "deploy")
    guide.Guide(ROOT / "docs" / "guide" / "upgrade.md", shell, PORTS).follow(since="## A cluster")


def test_the_page_on_pihole_works_as_written(cluster, shell, pihole, programs, tmp_path):
    """And the Deployment that it ends with goes on from there."""
    (shell.folder / "pihole.password").write_text(pihole.password + "\n")
    pihole.people("192.168.1.9 box.home.lan")
    pihole.put("192.168.1.50 old.home.lan")
    page = guide.Guide(PIHOLE_PAGE, shell, (8081, 8090, 5353))
    page.name_ports({8090: pihole.port, 5353: pihole.dns_port})
    page.follow()
    assert len([line for line in pihole.hosts if "# signpost:" in line]) == 3
    theirs = cluster.api.get("Deployment", "pihole-ingress-operator", "pihole")["spec"]["template"]
    assert theirs["spec"]["serviceAccountName"] == "signpost"
    assert {row["name"] for row in theirs["spec"]["containers"][0]["env"]} >= {
        "PIHOLE_URL", "PIHOLE_API_TOKEN", "SIGNPOST_CONTROLLERS", "SIGNPOST_ADMISSION"}
    pod = Pod(programs, tmp_path, clusters.Account(cluster, "signpost", "signpost"),
              cluster.api.get("Deployment", "signpost", "signpost"), PIHOLE_URL=pihole.url,
              PIHOLE_API_TOKEN=pihole.password).start()
    with contextlib.closing(pod):
        pod.wait_ready()
        cluster.api.apply(ingress_of("late", "late.home.lan", namespace="shop"))
        pihole.wait_resolves("late.home.lan", ["192.168.1.50"], seconds=30)
        cluster.api.delete("Ingress", "old", "shop")
        pihole.wait_resolves("old.home.lan", [], seconds=30)


class ZonesPod(Pod):
    """With the folder of its projected volume, and the primary at another port."""

    def __init__(self, *words, zones, port, **values):
        super().__init__(*words, **values)
        self.zones = zones
        self.port = port

    def arguments(self):
        return [word.replace("/etc/signpost/zones", str(self.zones))
                for word in super().arguments()] + [f"--primary-listen={LOOPBACK}:{self.port}"]


def put_projected(cluster, folder):
    """What the ConfigMap and the Secret hold, as files."""
    folder.mkdir()
    for name, text in cluster.api.get("ConfigMap", "signpost-zones", "signpost")["data"].items():
        (folder / name).write_text(text)
    for name, text in cluster.api.get("Secret", "signpost-tsig", "signpost")["data"].items():
        (folder / name).write_bytes(base64.b64decode(text))
    return folder


def test_the_page_on_zones_works_as_written(cluster, shell, programs, tmp_path):
    """And the Deployment that it ends with goes on from there."""
    page = guide.Guide(ZONES_PAGE, shell, (5300, 5302, 8080, 8081))
    page.follow(until=ZONES_END)
    shell.run("kill %1; wait %1")
    pod = ZonesPod(programs, tmp_path, clusters.Account(cluster, "signpost", "signpost"),
                   cluster.api.get("Deployment", "signpost", "signpost"), port=page.port(5300),
                   zones=put_projected(cluster, tmp_path / "zones")).start()
    with contextlib.closing(pod):
        pod.wait_ready()
        shell.run("kubectl -n shop patch record www --type=merge "
                  """-p '{"spec":{"rdata":"192.0.2.8"}}'""")
        harness.wait_until(lambda: "192.0.2.8" in str(harness.ask_dns(
            page.port(5302), "www.shop.example", "A")), "Knot has what the pod published", 30)
    page.follow(since=ZONES_END)


def test_manifests_of_kubizone_are_accepted_unchanged(cluster):
    """Those that docs/guide/zones-from-kubizone.md begins with."""
    cluster.install_crds()
    files = guide.read_files(ROOT / "docs" / "guide" / "zones-from-kubizone.md")
    code, text, errors = cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                         stdin=files["zones/example.yaml"])
    assert (code, text.count("serverside-applied")) == (0, 5), errors
