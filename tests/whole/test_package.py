"""`make deb`: a Debian package that installs, runs as its units say, and goes without a trace."""

import os
import re
import subprocess

import pytest

import guide
import harness
from harness import LOOPBACK, ask_dns, wait_until
from machine import Machine
from systemctl import Unit

UNITS = ("signpost", "signpost-provider")
EXPOSURE_MAX = 2.0
PATHS = re.compile(r"^\S+ \S+ +\d+ \S+ \S+ \.(/.*[^/\n])$", re.M)
SYSTEM_CALL = re.compile(r"^(\d+) +(\w+)\((.*)$", re.M)
# What each installation of a package touches.
OF_SYSTEM = re.compile(r"/etc/((passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$"
                       r"|/var/(lib/dpkg|cache/man|log)/(?!.*signpost)")
GUIDE = harness.ROOT / "docs" / "guide"
REMOVAL = "### Upgrade and removal"
KEY = "0123456789abcdef0123456789abcdef"
VERSION = harness.run("version")[1].split()[1]


def output(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, check=True,
                          capture_output=True, timeout=harness.BUILD_HANG_S, **options).stdout


@pytest.fixture(scope="module")
def package():
    """The path of the package."""
    return harness.ROOT / output(harness.ROOT / "scripts" / "deb").split(",")[0]


@pytest.fixture(scope="module")
def files(package, tmp_path_factory):
    """A folder that it is unpacked in."""
    folder = tmp_path_factory.mktemp("package")
    output("dpkg-deb", "-x", package, folder)
    return folder


@pytest.fixture(scope="module")
def installed(package, tmp_path_factory):
    """A machine that has it, for the tests of this file in their order; `accounts` were before."""
    machine = Machine(tmp_path_factory.mktemp("installed"))
    machine.accounts = machine.run("cat", "/etc/passwd", "/etc/group")
    machine.run("dpkg", "--path-include=/usr/share/*", "--install", package)
    yield machine
    machine.end()


def field(package, name):
    return output("dpkg-deb", "-f", package, name).strip()


def test_is_named_after_version_and_machine(package):
    machine = output("dpkg", "--print-architecture").strip()
    assert package.name == f"signpost_{VERSION}_{machine}.deb"
    assert [field(package, name) for name in ("Package", "Version", "Architecture")] == \
        ["signpost", VERSION, machine]


def test_has_program_pages_completions_units_and_nothing_else(package):
    pages = {f"/usr/share/man/man1/{path.name}.gz"
             for path in (harness.ROOT / "docs" / "man").iterdir()}
    settings = {"/etc/signpost/signpost.env", "/etc/signpost-provider/signpost-provider.env"}
    found = set(PATHS.findall(output("dpkg-deb", "-c", package)))
    assert {path for path in found if not path.startswith("/usr/share/doc/signpost/")} == {
        "/usr/bin/signpost", *pages, *settings,
        *(f"/lib/systemd/system/{name}.service" for name in UNITS),
        "/usr/lib/sysusers.d/signpost.conf", "/usr/lib/tmpfiles.d/signpost.conf",
        "/usr/share/bash-completion/completions/signpost",
        "/usr/share/zsh/site-functions/_signpost",
        "/usr/share/fish/vendor_completions.d/signpost.fish"}
    assert {"/usr/share/doc/signpost/copyright", "/usr/share/doc/signpost/CHANGELOG.md.gz",
            "/usr/share/doc/signpost/examples/quickstart/web.yaml"} < found
    assert set(output("dpkg-deb", "--info", package, "conffiles").split()) == settings


def owner_of(library):
    folder = output("gcc", "-print-multiarch").strip()
    return output("dpkg", "-S", f"*/{folder}/{library}").split(":")[0]


def test_depends_on_the_packages_of_all_libraries_also_those_loaded_on_demand(package, files):
    program = files / "usr" / "bin" / "signpost"
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program)))
    named = {name.decode() for name in
             re.findall(rb"\0(lib\w+\.so\.\d+)\0", program.read_bytes())}
    assert named - needed == {"libcurl.so.4", "libsqlite3.so.0"}
    depends = {re.match(r"\S+", word)[0] for word in re.split(r"[,|] *", field(package, "Depends"))}
    assert depends == {*map(owner_of, needed | named), "systemd",
                       "systemd-standalone-sysusers", "systemd-sysusers"}
    assert re.search(r"libcurl4 \(>= 7\.", field(package, "Depends"))


def test_program_is_to_the_byte_the_release_build_of_another_folder(files, tmp_path):
    output(harness.ROOT / "scripts" / "build", "release")
    made = []
    for path in (files / "usr" / "bin" / "signpost",
                 harness.ROOT / "build" / "release" / "src" / "signpost"):
        made.append(tmp_path / f"{len(made)}")
        output("objcopy", "-O", "binary", "--remove-section=.note.gnu.build-id", path, made[-1])
    assert made[0].read_bytes() == made[1].read_bytes()


def test_two_packages_are_the_same_bytes(package):
    """All of it but the compiler is run again."""
    folder = harness.ROOT / "build" / "deb" / f"signpost-{VERSION}"
    environment = {**os.environ, "TZ": "Asia/Tokyo", "DEB_BUILD_OPTIONS": "noautodbgsym",
                   "SOURCE_DATE_EPOCH": output("git", "log", "-1", "--format=%ct",
                                               cwd=harness.ROOT).strip()}
    output("dh_clean", cwd=folder, env=environment)
    output("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps",
           "--no-pre-clean", cwd=folder, env=environment)
    assert (folder.parent / package.name).read_bytes() == package.read_bytes()


@pytest.mark.parametrize("name", UNITS)
def test_unit_is_correct_and_gives_little_away(installed, name):
    assert installed.run("systemd-analyze", "verify", "--man=no", f"{name}.service") == ""
    text = installed.run("systemd-analyze", "security", "--offline=true", "--no-pager",
                         f"/lib/systemd/system/{name}.service")
    assert float(re.search(r"Overall exposure level for .*: ([\d.]+)", text)[1]) <= EXPOSURE_MAX


def test_units_are_hardened_alike(files):
    first, second = (Unit(name, files / "lib" / "systemd" / "system") for name in UNITS)
    start = first.rows.index(("AmbientCapabilities", ""))
    assert first.rows[start:] == second.rows[second.rows.index(("AmbientCapabilities", "")):]


def test_nothing_starts_before_it_is_configured_and_enabled(installed):
    for name in UNITS:
        assert installed.call("systemctl", "is-enabled", name) == (1, "disabled\n")
        assert "was not started: Condition" in installed.systemctl("start", name)
        assert installed.call("test", "-e", f"/run/{name}.log")[0] == 1


def test_each_service_has_a_user_and_a_folder_that_the_other_cannot_read(installed):
    assert installed.run("stat", "-c", "%a %U:%G %n", "/etc/signpost", "/etc/signpost/manifests",
                         "/etc/signpost-provider").splitlines() == [
        "2750 root:signpost /etc/signpost", "2750 root:signpost /etc/signpost/manifests",
        "2750 root:signpost-provider /etc/signpost-provider"]
    for name, other in zip(UNITS, UNITS[::-1]):
        for user, code in ((name, 0), (other, 2)):
            assert installed.call("runuser", "-u", user, "--", "ls", f"/etc/{name}")[0] == code


def test_program_and_pages_are_found(installed):
    assert installed.run("signpost", "version").startswith(f"signpost {VERSION}\n")
    assert installed.run("zcat", "/usr/share/man/man1/signpost-run.1.gz") == \
        (harness.ROOT / "docs" / "man" / "signpost-run.1").read_text()


class Services:
    """Both services on a machine, for a Knot of this one."""

    def __init__(self, machine, knot, ports):
        self.machine = machine
        self.knot = knot
        self.listen, self.health, self.metrics = (f"{LOOPBACK}:{port}" for port in ports)
        self.health_port = ports[1]

    def write(self, path, *lines):
        subprocess.run([*self.machine.within, "tee", path], text=True, check=True,
                       input="\n".join(lines), stdout=subprocess.DEVNULL)

    def configure(self):
        self.write("/etc/signpost-provider/hmac.key", KEY)
        self.write("/etc/signpost-provider/tsig.key", self.knot.secret)
        self.write("/etc/signpost-provider/signpost-provider.env", "# ours",
                   f"SIGNPOST_LISTEN={self.listen}", "SIGNPOST_BACKEND=rfc2136",
                   f"SIGNPOST_SERVER={LOOPBACK}:{self.knot.port}",
                   f"SIGNPOST_ZONE={self.knot.zone}", "SIGNPOST_TSIG_NAME=signpost",
                   "SIGNPOST_TSIG_SECRET_FILE=/etc/signpost-provider/tsig.key")
        self.write("/etc/signpost/signpost.env",
                   f"SIGNPOST_HEALTH_PROBE_BIND_ADDRESS={self.health}",
                   f"SIGNPOST_METRICS_BIND_ADDRESS={self.metrics}")
        self.write("/etc/signpost/manifests/all.yaml", harness.documents(
            harness.secret_text(key=KEY.encode()),
            harness.class_text(server=f"http://{self.listen}"),
            harness.record("packaged", domain=self.knot.zone)))

    def tails(self):
        return "\n".join(self.machine.call("tail", "-n", "20", f"/run/{name}.log")[1]
                         for name in UNITS)

    def has_answer(self):
        return ask_dns(self.knot.port, f"packaged.{self.knot.zone}", "A") == {"192.0.2.1"}

    def wait(self):
        wait_until(self.has_answer, lambda: f"the answer\n{self.tails()}", 20)
        wait_until(lambda: harness.fetch(self.health_port, "/readyz")[0] == 200, self.tails, 20)


@pytest.fixture
def services(installed, name_servers):
    return Services(installed, name_servers("knot"), [harness.free_port() for _ in range(3)])


def allowed_calls(unit):
    """The names of the system calls that its filter lets through."""
    allowed = set()
    for value in unit.all("SystemCallFilter"):
        names = set().union(*map(expand, value.removeprefix("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed


def expand(name):
    if not name.startswith("@"):
        return {name}
    lines = output("systemd-analyze", "syscall-filter", name).splitlines()[1:]
    return set().union(*(expand(line.strip()) for line in lines if line.strip()[:1] not in "#"))


def calls_of(trace):
    """(name, arguments) of what the program called, without what started it."""
    rows = SYSTEM_CALL.findall(trace)
    start = max(index for index, row in enumerate(rows)
                if row[1] == "execve" and row[2].endswith(" = 0"))
    return [row[1:] for row in rows[start + 1:]]


def test_services_run_as_their_units_say(services, files):
    """Also within the system calls, kinds of sockets and memory that their units leave them."""
    machine = services.machine
    services.configure()
    assert machine.systemctl("enable", "--now", *UNITS) == ""
    services.wait()
    machine.systemctl("stop", *UNITS)
    for name in UNITS:
        assert machine.run("cat", f"/run/{name}.ended") == "0\n", services.tails()
        assert machine.run("stat", "-c", "%a %U", f"/var/lib/{name}") == f"750 {name}\n"
        assert re.match(r"[\d:]+ INFO  \w+", machine.run("cat", f"/run/{name}.log"))
        unit = Unit(name, files / "lib" / "systemd" / "system")
        calls = calls_of(machine.run("cat", f"/run/{name}.trace"))
        assert {call for call, _ in calls} - allowed_calls(unit) == set()
        assert {re.match(r"AF_\w+", words)[0] for call, words in calls if call == "socket"} <= \
            set(unit.settings["RestrictAddressFamilies"].split())
        assert [words for call, words in calls if "PROT_WRITE|PROT_EXEC" in words
                or call == "mprotect" and "PROT_EXEC" in words] == []


def test_wrong_settings_end_a_service_for_good(services, files):
    services.configure()
    services.write("/etc/signpost/signpost.env", "SIGNPOST_LOG_LEVEL=loud")
    services.machine.systemctl("start", "signpost")
    wait_until(lambda: services.machine.call("cat", "/run/signpost.ended") == (0, "2\n"),
               services.tails, 10)
    assert "SIGNPOST_LOG_LEVEL" in services.tails()
    settings = Unit("signpost", files / "lib" / "systemd" / "system").settings
    assert settings["RestartPreventExitStatus"] == "2" and settings["Restart"] == "on-failure"


def test_purge_leaves_what_people_wrote_and_nothing_else(services):
    machine = services.machine
    services.configure()
    machine.systemctl("start", *UNITS)
    services.wait()
    machine.systemctl("stop", *UNITS)
    machine.run("dpkg", "--remove", "signpost")
    machine.run("test", "-e", "/var/lib/signpost/.signpost/state.db")
    machine.run("dpkg", "--purge", "signpost")
    assert {path for path in machine.changed() if not OF_SYSTEM.match(path)} == {
        "/etc/signpost/manifests/all.yaml", "/etc/signpost-provider/hmac.key",
        "/etc/signpost-provider/tsig.key"}
    assert machine.run("cat", "/etc/passwd", "/etc/group") == machine.accounts


def test_installing_and_upgrading_work_as_written(package, programs, tmp_path):
    folder, knot_folder = tmp_path / "clone", tmp_path / "knot"
    folder.mkdir()
    knot_folder.mkdir()
    knot = harness.Knot(programs, knot_folder, zone="home.example").start()
    (folder / "tsig.key").write_text(knot.secret)
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\ntest "$1" = deb && mkdir build && cp {package} build/\n')
    make.chmod(0o755)
    machine = Machine(tmp_path, tmp_path)
    systemctl = harness.ROOT / "tests" / "whole" / "systemctl.py"
    shell = guide.Shell(folder, {"make": make, "systemctl": systemctl},
                        [*machine.within, "env", "-C", str(folder)])
    try:
        page = guide.Guide(GUIDE / "installing.md", shell, (7100,))
        page.name_ports({53: knot.port})
        page.follow(until=REMOVAL)
        guide.Guide(GUIDE / "upgrade.md", shell, (7100,)).follow(
            since="## The Debian package", until="## A cluster")
        page.follow(since=REMOVAL)
    finally:
        shell.end()
        machine.end()
