"""The Go that builds what tests need: one that is installed, or the toolchain that go.mod names,
which an older Go fetches and whose sum toolchain.sum pins."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PINNED = re.search(r"^toolchain go(\S+)$", (HERE / "go.mod").read_text(), re.M)[1]
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def environment():
    """What go runs with: this machine's settings decide nothing about the result."""
    made = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off",
            "GO111MODULE": "on", "CGO_ENABLED": "0"}
    made.pop("GOROOT", None)
    return made


def numbers(version):
    """(major, minor) of "1.26.8", or (0, 0)."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def version_of(go):
    """Such as "1.26.8"; empty when it does not run."""
    try:
        text = subprocess.run([go, "env", "GOVERSION"], env=environment(), capture_output=True,
                              text=True, check=False).stdout
    except OSError:
        return ""
    return text.strip().removeprefix("go").split(" ")[0]


def installed():
    """(path, version) of the first Go that runs, or None."""
    candidates = [os.environ.get("GO"), shutil.which("go"), "/usr/local/go/bin/go"]
    found = ((path, version_of(path)) for path in candidates if path)
    return next(((path, version) for path, version in found if version), None)


def version_for(needed):
    """The version that go_for(needed) will have; fetches nothing."""
    have = installed()
    return have[1] if have and numbers(have[1]) >= needed else PINNED


def go_for(needed):
    """The path of a Go of at least this (major, minor)."""
    have = installed()
    if have is None:
        raise RuntimeError("no Go: apt-get install golang-go")
    return have[0] if numbers(have[1]) >= needed else fetched(have[0])


def fetched(old):
    module = f"golang.org/toolchain v0.0.1-go{PINNED}.linux-{MACHINES[platform.machine()]}"
    result = subprocess.run([old, "mod", "download", "-json", module.replace(" ", "@")], cwd="/",
                            env=environment(), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{module} cannot be fetched: {result.stdout}{result.stderr}")
    about = json.loads(result.stdout)
    if f"{module} {about['Sum']}" not in (HERE / "toolchain.sum").read_text().splitlines():
        raise RuntimeError(f"{module} has another sum than toolchain.sum: {about['Sum']}")
    root = pathlib.Path(about["Dir"])
    for tool in [*root.glob("bin/*"), *root.glob("pkg/tool/*/*")]:
        tool.chmod(0o755)
    return str(root / "bin" / "go")
