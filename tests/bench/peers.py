#!/usr/bin/python3
"""Builds the Go programs of `make bench`: the informer that `signpost run` stands beside, and what
writes objects and hears of records. go.mod and go.sum pin every byte of what they are made of.

tests/bench/peers.py [PREFIX]: builds them if they are not in the user's cache folder yet.
"""

import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULE = HERE / "go"
sys.path.append(str(HERE.parent / "go"))
import toolchain  # noqa: E402

NEEDED = (1, 26)
PROGRAMS = ["informer", "load", "seed", "serial"]


def folder():
    files = [MODULE / "go.mod", MODULE / "go.sum", *sorted(MODULE.glob("*/*.go"))]
    parts = [path.read_bytes() for path in files] + [toolchain.version_for(NEEDED).encode()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "signpost-bench" / key


def path(name):
    return folder() / name


def build():
    made = folder()
    made.mkdir(parents=True, exist_ok=True)
    with open(made / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in PROGRAMS:
            if not os.access(made / name, os.X_OK):
                build_one(made, name)


def build_one(made, name):
    """A build that is broken off leaves no program."""
    new = made / f"{name}.new"
    result = subprocess.run(
        [toolchain.go_for(NEEDED), "build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w",
         "-o", new, f"./{name}"], cwd=MODULE, env=toolchain.environment(), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if "downloading" not in line]
        raise RuntimeError("\n".join([f"{name} does not build:", *lines[-20:]]))
    new.rename(made / name)


def main():
    prefix = sys.argv[1] if len(sys.argv) > 1 else "build"
    if all(os.access(path(name), os.X_OK) for name in PROGRAMS):
        return
    print(f"{prefix}: builds {', '.join(PROGRAMS)} once into {folder()}", flush=True)
    try:
        build()
    except RuntimeError as error:
        sys.exit(f"{prefix}: {error}")


if __name__ == "__main__":
    main()
