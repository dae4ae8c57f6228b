"""`make image`: a valid OCI image layout that holds what the program needs, the same bytes each
time, and runs as `signpost manifests --deployment` has it run."""

import hashlib
import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import threading

import pytest
import yaml

import harness
from container import Container, Layout, give, is_elf
from harness import LOOPBACK, ask_dns, wait_until
from pods import COMMAND

SIZE_MAX = 30_000_000
CA_BUNDLE = "etc/ssl/certs/ca-certificates.crt"
PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", re.S)


def make_image(out, **environment):
    result = subprocess.run([harness.ROOT / "scripts" / "image"], text=True, check=False,
                            capture_output=True, timeout=harness.BUILD_HANG_S,
                            env={**os.environ, "OUT": str(out), **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image") / "layout"
    make_image(folder)
    return Layout(folder)


@pytest.fixture
def container(layout, tmp_path):
    """container(volumes): the image, unpacked for this test."""
    def make(**volumes):
        root = tmp_path / "root"
        layout.unpack(root)
        return Container(layout, root, {f"/{name}": row for name, row in volumes.items()})
    return make


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def needed_by(path):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path)))


def loader_of(path):
    return re.search(r"program interpreter: (.*)\]", output("readelf", "-l", path))[1]


def test_is_a_layout_whose_parts_are_what_their_digests_say(layout):
    assert (layout.folder / "oci-layout").read_text().strip() == '{"imageLayoutVersion":"1.0.0"}'
    there = {f"sha256:{path.name}" for path in (layout.folder / "blobs" / "sha256").iterdir()}
    assert there == layout.read_digests
    assert layout.config["rootfs"] == {"type": "layers", "diff_ids": [
        f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layout.layers]}
    assert len(layout.config["history"]) == len(layout.layers)
    machine = output("dpkg", "--print-architecture").strip()
    assert (layout.config["os"], layout.config["architecture"]) == ("linux", machine)


def test_two_builds_are_the_same_bytes(layout, tmp_path):
    make_image(tmp_path / "again", TZ="Asia/Tokyo", LANG="C.UTF-8")
    first, second = harness.files_below(layout.folder), harness.files_below(tmp_path / "again")
    assert {path.relative_to(layout.folder): text for path, text in first.items()} == \
        {path.relative_to(tmp_path / "again"): text for path, text in second.items()}


def test_time_is_that_of_the_commit_or_what_is_given(layout, tmp_path):
    made = make_image(tmp_path / "old", SOURCE_DATE_EPOCH="86400")
    old = Layout(tmp_path / "old")
    assert made.startswith(f"{tmp_path / 'old'}:{old.tag}, ")
    assert {old.config["created"], *(row["created"] for row in old.config["history"])} == \
        {"1970-01-02T00:00:00Z"}
    assert {member.mtime for member in old.members()} == {86400}
    times = {member.mtime for member in layout.members()}
    assert len(times) == 1 and times != {86400}


def test_holds_what_the_program_needs_and_nothing_else(layout, tmp_path):
    layout.unpack(tmp_path)
    files = {path: tmp_path / path[1:] for path in layout.files()}
    program = files["/usr/bin/signpost"]
    libraries = {path.name: path for path in files.values() if path != program and is_elf(path)}
    wanted = needed_by(program) | {
        name.decode() for name in re.findall(rb"\0(lib\w+\.so\.\d+)\0", program.read_bytes())}
    assert {"libcurl.so.4", "libsqlite3.so.0"} < wanted
    open_names, found = set(wanted), set()
    while open_names:
        name = open_names.pop()
        found.add(name)
        assert name in libraries, f"{name} is not in the image"
        open_names |= needed_by(libraries[name]) - found
    loader = loader_of(program)
    assert loader in files
    assert set(libraries) == found | {pathlib.Path(loader).name}
    assert {path for path in files if files[path].name not in libraries} == \
        {"/usr/bin/signpost", f"/{CA_BUNDLE}"}


def test_has_no_shell_no_privileges_and_no_owner_but_root(layout):
    for member in layout.members():
        assert member.isdir() or member.isreg(), member.name
        assert (member.uid, member.gid) == (0, 0) and not member.mode & 0o7022, member.name
    executable = {pathlib.Path(member.name).name for member in layout.members()
                  if member.isreg() and member.mode & 0o111}
    assert {name for name in executable if not name.startswith("ld-linux")} == {"signpost"}


def test_is_small(layout):
    assert sum(map(len, harness.files_below(layout.folder).values())) < SIZE_MAX / 2
    assert sum(map(len, layout.layers)) < SIZE_MAX


def test_certificates_are_those_of_debian(layout, tmp_path):
    """Not those that somebody added to the machine that built it."""
    layout.unpack(tmp_path)
    folder = pathlib.Path("/usr/share/ca-certificates/mozilla")
    assert PEM.findall((tmp_path / CA_BUNDLE).read_text()) == \
        [one for path in sorted(folder.glob("*.crt")) for one in PEM.findall(path.read_text())]


def test_is_what_the_deployment_asks_for(layout):
    _, text, _ = harness.run("manifests", "--deployment")
    [deployment] = [document for document in yaml.safe_load_all(text)
                    if document and document["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    config = layout.config["config"]
    assert container["image"] == f"signpost:{layout.tag}"
    assert "command" not in container
    assert container["args"][:1] == config["Cmd"] == COMMAND
    user = pod["securityContext"]
    assert config["User"] == f"{user['runAsUser']}:{user['runAsGroup']}"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_labels_tell_the_version_and_nothing_of_the_machine(layout, tmp_path):
    labels = {name.removeprefix("org.opencontainers.image."): value
              for name, value in layout.config["config"]["Labels"].items()}
    assert labels["version"] == layout.tag == harness.run("version")[1].split()[1]
    assert set(labels) == {"title", "description", "licenses", "revision", "version"}
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", labels["revision"])
    for text in (*harness.files_below(layout.folder).values(), *layout.layers):
        assert str(harness.ROOT).encode() not in text
    make_image(tmp_path / "named", IMAGE_SOURCE="https://git.example/signpost")
    assert Layout(tmp_path / "named").config["config"]["Labels"][
        "org.opencontainers.image.source"] == "https://git.example/signpost"


def test_program_runs_and_cannot_write_to_its_root(container, tmp_path):
    manifests = give(tmp_path / "manifests", "0:0", 0o755)
    image = container(manifests=(manifests, "ro"))
    code, text = image.run("version")
    assert (code, text.splitlines()[0]) == (0, f"signpost {harness.run('version')[1].split()[1]}")
    code, text = image.run("run", "--state-dir", "/etc/state")
    assert code != 0 and "Read-only file system" in text


def test_quickstart_runs_from_the_image(container, programs, layout, tmp_path):
    """As `make run` does it, the provider and `signpost run` each as a container."""
    user = layout.config["config"]["User"]
    knot_folder = give(tmp_path / "knot", "0:0")
    knot = harness.Knot(programs, knot_folder, zone="home.example").start()
    keys = give(tmp_path / "keys", user)
    shutil.copy(knot.secret_file, keys / "tsig.key")
    (keys / "hmac.key").write_text("test-secret")
    manifests = give(tmp_path / "manifests", user)
    port, health_port, primary_port = (harness.free_port() for _ in range(3))
    for path in (harness.ROOT / "examples" / "quickstart").glob("*.yaml"):
        (manifests / path.name).write_text(path.read_text().replace(":7100", f":{port}"))
    (manifests / "secret.yaml").write_text(harness.secret_text(key=b"test-secret"))
    for path in [*keys.iterdir(), *manifests.iterdir()]:
        os.chown(path, *map(int, user.split(":")))
        path.chmod(0o400)
    image = container(keys=(keys, "ro"), manifests=(manifests, "ro"),
                      state=(give(tmp_path / "state", user), "rw"))
    programs.start("provider", image.command(
        "provider", "--listen", f"{LOOPBACK}:{port}", "--backend", "rfc2136", "--server",
        f"{LOOPBACK}:{knot.port}", "--zone", "home.example", "--tsig-name", "signpost",
        "--tsig-secret-file", "/keys/tsig.key", "--hmac-secret-file", "/keys/hmac.key",
        "--state", "/state/provider"))
    run = programs.start("run", image.command(  # with no words: `run`, on /manifests
        SIGNPOST_STATE_DIR="/state/run", SIGNPOST_PRIMARY_LISTEN=f"{LOOPBACK}:{primary_port}",
        SIGNPOST_HEALTH_PROBE_BIND_ADDRESS=f"{LOOPBACK}:{health_port}",
        SIGNPOST_METRICS_BIND_ADDRESS="0"))

    def is_answered():
        return ask_dns(knot.port, "www.home.example", "A") == {"192.0.2.10", "192.0.2.11"} and \
            ask_dns(knot.port, "blog.home.example", "CNAME") == {"www.home.example."}
    wait_until(is_answered, lambda: f"the answers\n{programs.tails()}", 20)
    wait_until(lambda: harness.fetch(health_port, "/readyz")[0] == 200, "run is ready", 10, [run])
    shown = lambda: image.run("status", "--dir", "/manifests", "--state-dir",  # noqa: E731
                              "/state/run", "--ask", f"{LOOPBACK}:{knot.port}")[1]
    ready = re.compile(r"Record/default/web +www\.home\.example A +True +RecordCreated +ok")
    wait_until(lambda: ready.search(shown()), shown, 20, [run])
    assert run.stop() == 0


class Https:
    """A server whose certificate nobody knows."""

    def __init__(self, folder):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = b'{"status":"healthy"}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.certificate, _ = harness.make_pair(folder, "https")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "https.crt", folder / "https.key")
        self.server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://{LOOPBACK}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def https(tmp_path):
    server = Https(tmp_path)
    yield server
    server.close()


def test_servers_are_believed_by_the_certificates_in_the_image(container, https, tmp_path):
    manifests = give(tmp_path / "manifests", "0:0", 0o755)
    (manifests / "class.yaml").write_text(harness.class_text(server=https.url, secret=None))
    image = container(manifests=(manifests, "ro"))
    code, text = image.run("check", "--live", "/manifests")
    assert code == 1 and "certificate" in text and "CAfile" not in text, text
    with open(image.root / CA_BUNDLE, "a", encoding="ascii") as bundle:
        bundle.write(https.certificate)
    code, text = image.run("check", "--live", "/manifests")
    assert code == 0, text
