"""Which C tests are known to pass, because they passed before on exactly the same bytes.

Whatever decides the outcome of a test is hashed into its key: its command, its environment and its
time limit; the bytes of what it is built of and of each file among its arguments; the scripts that
count its outcome; the kernel, the user and the shared libraries that are installed. The keys of
tests that passed are kept in a file. A test that failed or skipped something is never in it.
docs/decisions/0026-known-tests.md weighs the alternatives.
"""

import collections
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time

# Tests see nothing else of the caller's environment, so that nothing else can change an outcome.
INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "USER")
# Some ten states of the tree, of five suites each; those that were not seen for longest go first.
KEPT_MAX = 20_000
COUNTING = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
            for name in ("known_tests.py", "test")]
# What libraries read by themselves, besides.
SETTINGS = ["/etc/localtime", "/etc/ssl/certs/ca-certificates.crt", "/usr/lib/ssl/openssl.cnf"]
LIBRARY = re.compile(r" => (/.+)$", re.MULTILINE)


def inherited_environment():
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


@functools.lru_cache(maxsize=None)
def digest_of_version(path, _inode, _size, _written_ns, _changed_ns):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(path):
    """The SHA-256 of a file, which is read again only if it has been written since."""
    status = os.stat(path)
    return digest_of_version(path, status.st_ino, status.st_size, status.st_mtime_ns,
                             status.st_ctime_ns)


def digest_of_parts(parts):
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def system_file_identity(path):
    """Packages keep the size and the time of each file, so these tell two releases apart."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)
        return [path, status.st_size, status.st_mtime_ns]
    return [path]


@functools.lru_cache(maxsize=None)
def system_identity():
    """The kernel, the user, all libraries that the loader knows (some are loaded on demand), settings."""
    ldconfig = shutil.which("ldconfig", path="/usr/sbin:/sbin")
    if not ldconfig:
        return os.urandom(16).hex()  # a system that cannot be identified is never the same twice
    listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    paths = SETTINGS + sorted(set(LIBRARY.findall(listed)))
    return digest_of_parts([platform.release(), platform.machine(), os.geteuid(),
                            [system_file_identity(path) for path in paths]])


def load(folder, name):
    with open(os.path.join(folder, "meson-info", f"intro-{name}.json"), encoding="utf-8") as file:
        return json.load(file)


Program = collections.namedtuple("Program", "name command key")


class Programs:
    """The tests of one suite in a build folder, in meson's order."""

    def __init__(self, folder, suite, settings):
        """Settings are whatever else decides about all outcomes of the suite, as JSON."""
        self.folder, self.settings = folder, settings
        self.outputs = {target["id"]: target["filename"] for target in load(folder, "targets")}
        self.rows = [Program(test["name"], tuple(test["cmd"]), self.key_of(test))
                     for test in load(folder, "tests")
                     if suite in [label.split(":", 1)[-1] for label in test["suite"]]]

    def key_of(self, test):
        paths = {os.path.join(test["workdir"] or self.folder, word) for word in test["cmd"]}
        paths.update(*(self.outputs.get(target, ()) for target in test["depends"]))
        files = [[path, digest_of(path)] for path in sorted(paths) if os.path.isfile(path)]
        return digest_of_parts(
            [test[what] for what in ("name", "cmd", "env", "workdir", "timeout", "protocol")]
            + [self.settings, files, [digest_of(path) for path in COUNTING], system_identity()])

    def keys(self):
        return {program.key for program in self.rows}

    def split(self, known):
        """The programs to run, and {key: number of single tests} of those that need not be.

        Meson selects by name, and two programs may have the same: both are run, or neither.
        """
        names = {program.name for program in self.rows if program.key not in known}
        return ([program for program in self.rows if program.name in names],
                {program.key: known[program.key]["passed"] for program in self.rows
                 if program.name not in names})


class PassedTests:
    """A file of {key: {"test": name, "passed": number of single tests, "seen": seconds since 1970}}."""

    def __init__(self, path):
        self.path = path

    @contextlib.contextmanager
    def lock(self):
        """Two calls of scripts/test may come to the end of a suite at the same time."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def read(self):
        """A file that is not there, or that a crash cut short, knows nothing."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            with open(self.path, encoding="utf-8") as file:
                return json.load(file)
        return {}

    def update(self, programs, passed):
        """Keeps {key: number of single tests} of what passed, and forgets the suite's other keys."""
        now, keys = int(time.time()), programs.keys()
        with self.lock():
            known = {key: entry for key, entry in self.read().items() if key not in keys}
            known |= {program.key: {"test": program.name, "passed": passed[program.key], "seen": now}
                      for program in programs.rows if program.key in passed}
            latest = sorted(known.items(), key=lambda item: item[1]["seen"])[-KEPT_MAX:]
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(dict(latest), file, indent=0)
            os.replace(self.path + ".new", self.path)
