#!/usr/bin/python3
"""Builds the servers of the tests that Debian has not from their Go modules; go.mod and go.sum pin
every byte.

tests/cluster/build.py [PREFIX [NAME...]]: builds what is missing, names it first (behind PREFIX),
and says nothing when nothing is. With names only these, of the newer release. build.py --path NAME
says where one of it lies, build.py --version which one it is. The programs lie in
signpost-cluster/<key> of the user's cache folder; the key stands for go.mod, go.sum and the version
of Go. What KUBEBUILDER_ASSETS holds is taken from there. `older/` is the oldest minor that we support, of
which only the API server is needed: its etcd is the same. CoreDNS and external-dns come in two
releases each, whose modules lie in tests/coredns and tests/external-dns. The validator of OpenAPI
documents is in tests/openapi. Helm is in helm/, whose modules are those of the API server where
both have them, so that Go compiles them once.
"""

import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "go"))
import toolchain  # noqa: E402

NEEDED = (1, 26)
STAMPED = "k8s.io/component-base/version"
PACKAGES = {"etcd": "go.etcd.io/etcd/server/v3",
            "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
            "kubectl": "k8s.io/kubernetes/cmd/kubectl",
            "coredns": ".",
            "external-dns": ".",
            "validate": "github.com/getkin/kin-openapi/cmd/validate",
            "helm": "helm.sh/helm/v4/cmd/helm"}


class Minor:
    """The programs of one minor version, as one module of Go pins it. The module has the version of
    `subject`, and nothing but what `sources` name besides go.mod and go.sum."""

    def __init__(self, module, names, assets="", subject="k8s.io/kubernetes", sources=(),
                 change=None):
        self.module = module
        self.names = names
        self.assets = assets
        self.subject = subject
        self.sources = sources
        self.change = change  # (go, module, new folder) -> arguments of `go build`; or None

    @property
    def version(self):
        text = (self.module / "go.mod").read_text()
        return re.search(rf"^\s*(?:require )?{re.escape(self.subject)} (v\S+)", text, re.M)[1]

    @property
    def folder(self):
        parts = [(self.module / name).read_bytes()
                 for name in ("go.mod", "go.sum", *self.sources)]
        parts.append(toolchain.version_for(NEEDED).encode())
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        return pathlib.Path(cache) / "signpost-cluster" / key

    def path(self, name):
        given = pathlib.Path(self.assets or "/nowhere") / name
        return given if os.access(given, os.X_OK) else self.folder / name

    def missing(self):
        return [name for name in self.names if not os.access(self.path(name), os.X_OK)]

    def build(self, names):
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            missing = [name for name in names if not os.access(self.folder / name, os.X_OK)]
            if missing:
                self.build_together(toolchain.go_for(NEEDED), missing)

    def build_together(self, go, names):
        """By one command, so that one program is linked while others are compiled. Nobody debugs
        them, and they wait most of the time: without DWARF the compiler is done an eighth sooner,
        without inlining a fifth. A build that is broken off leaves no program."""
        major, minor = self.version.removeprefix("v").split(".")[:2]
        stamps = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        flags = " ".join(f"-X {STAMPED}.{key}={value}" for key, value in stamps.items())
        with tempfile.TemporaryDirectory(dir=self.folder) as new:
            result = subprocess.run(
                [go, "build", "-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false -l",
                 "-ldflags", f"-s -w {flags}", "-o", f"{new}/",
                 *(self.change(go, self.module, pathlib.Path(new)) if self.change else ()),
                 *(PACKAGES[name] for name in names)],
                cwd=self.module, env=toolchain.environment(), text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                check=False)
            if result.returncode != 0:
                lines = [line for line in result.stdout.splitlines() if "downloading" not in line]
                raise RuntimeError("\n".join([f"{', '.join(names)} {self.version} could not be built:",
                                              *lines[-20:]]))
            for name in names:
                built = pathlib.PurePath(PACKAGES[name].removesuffix("/v3")).name or name
                (pathlib.Path(new) / built).rename(self.folder / name)


def coredns(folder):
    """A release of CoreDNS: tests/coredns/FOLDER, and what both share."""
    shared = ("../checker/go.mod", "../checker/checker.go")
    return Minor(HERE.parent / "coredns" / folder, ["coredns"],
                 subject="github.com/coredns/coredns", sources=("main.go", *shared))


# Those that DNS update records know, the one for tests, and the one that speaks HTTP.
PROVIDERS = HERE.parent / "external-dns" / "providers"
OTHER_PROVIDER = re.compile(r'\t"sigs\.k8s\.io/external-dns/provider/(\w+)"|.*\b(\w+)\.New\w*,$')


def without_other_providers(go, module, new):
    """external-dns with the clients of a few clouds instead of thirty, which are most of what is
    compiled: the arguments by which a copy takes its place whose list of providers is shorter."""
    result = subprocess.run([go, "mod", "download", "-json", "sigs.k8s.io/external-dns"], cwd=module,
                            env=toolchain.environment(), text=True, capture_output=True, check=True)
    copy = new / "source"
    shutil.copytree(json.loads(result.stdout)["Dir"], copy, copy_function=shutil.copyfile)
    listed = copy / "provider" / "factory" / "provider.go"
    lines = listed.read_text().splitlines(keepends=True)
    found = [OTHER_PROVIDER.match(line) for line in lines]
    wanted = PROVIDERS.read_text().split()
    listed.write_text("".join(line for line, other in zip(lines, found)
                              if not other or (other[1] or other[2]) in wanted))
    (new / "copy.mod").write_text(f"{(module / 'go.mod').read_text()}\n"
                                  f"replace sigs.k8s.io/external-dns => {copy}\n")
    shutil.copyfile(module / "go.sum", new / "copy.sum")
    return ["-modfile", str(new / "copy.mod")]


def external_dns(folder):
    """A release of external-dns: tests/external-dns/FOLDER."""
    return Minor(HERE.parent / "external-dns" / folder, ["external-dns"],
                 subject="sigs.k8s.io/external-dns", sources=("main.go", "../providers"),
                 change=without_other_providers)


CURRENT = Minor(HERE, ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"],
                os.environ.get("KUBEBUILDER_ASSETS", ""))
OLDER = Minor(HERE / "older", ["kube-apiserver"])
COREDNS = [coredns("newer"), coredns("older")]
EXTERNAL_DNS = [external_dns("newer"), external_dns("older")]
OPENAPI = Minor(HERE.parent / "openapi", ["validate"], subject="github.com/getkin/kin-openapi")
HELM = Minor(HERE / "helm", ["helm"], subject="helm.sh/helm/v4")


def monitoring_crds():
    """The folder with the definitions of the Prometheus operator, out of its module."""
    result = subprocess.run([toolchain.go_for(NEEDED), "mod", "download", "-json"],
                            cwd=HERE / "monitoring", env=toolchain.environment(), text=True,
                            capture_output=True, check=True)
    return pathlib.Path(json.loads(result.stdout)["Dir"]) / "example" / "prometheus-operator-crd"


def main():
    prefix = sys.argv[1] if len(sys.argv) > 1 else "build"
    wanted = sys.argv[2:]
    if prefix in ("--path", "--version"):
        print(CURRENT.path(wanted[0]) if prefix == "--path" else CURRENT.version)
        return
    for minor in [CURRENT] if wanted else (CURRENT, OLDER, *COREDNS, *EXTERNAL_DNS, OPENAPI, HELM):
        names = [name for name in minor.missing() if not wanted or name in wanted]
        if names:
            print(f"{prefix}: builds {', '.join(names)} {minor.version} once, some minutes, into "
                  f"{minor.folder}", flush=True)
            try:
                minor.build(names)
            except RuntimeError as error:
                sys.exit(f"{prefix}: {error}")


if __name__ == "__main__":
    main()
