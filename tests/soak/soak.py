"""Hostile traffic against the real program, from which descriptors are taken at random.

    soak.py dns|http|api SECONDS [FOLDER]

`make soak` runs all three. SIGNPOST names the program, best that of build/asan. Whoever attacks is a class with the programs
that it starts, attack(), which is called over and over by several threads, and check(), which asks
them something good while they have all their descriptors. A program has to live, to answer, to end
by SIGTERM with 0 and to have no report of a sanitizer in its log. The first line printed names the
seed; SOAK_SEED repeats the choices (not the timing).
"""

import contextlib
import os
import pathlib
import random
import re
import resource
import sys
import tempfile
import threading
import time
from unittest import mock

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "whole"))

import harness  # noqa: E402

THREADS = 3
SHORT_S = (0.05, 1.5)   # that long descriptors are scarce
ENOUGH_S = (0.05, 1.0)  # that long they are not
CHECK_S = 5             # between two checks
PATIENCE_S = 60
LOG_OCTETS_MAX = 32 << 20
REPORT = re.compile(r"ERROR: \w+Sanitizer|runtime error:|must\(|assertion", re.I)
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1"
                    ":strict_string_checks=1:malloc_context_size=20",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


class Soak:
    """What the attackers share. `programs` that are in `targets` lose descriptors."""

    def __init__(self, folder, seed):
        self.folder = pathlib.Path(folder)
        self.seed = seed
        self.programs = harness.Programs(folder)
        self.targets = []
        self.closers = []
        self.errors = []
        self.is_over = threading.Event()

    # ---- to be told by each

    def start(self):
        raise NotImplementedError

    def attack(self, rng):
        raise NotImplementedError

    def check(self):
        """Everything works; called when nobody lacks descriptors."""
        raise NotImplementedError

    def calm(self):
        """Servers of ours that were hostile are not from now on."""

    # ---- the run

    def target(self, program):
        self.targets.append((program, resource.prlimit(program.pid, resource.RLIMIT_NOFILE)))
        return program

    def run(self, seconds):
        end = time.monotonic() + seconds
        try:
            with mock.patch.dict(os.environ, SANITIZERS):
                self.start()
            self.check()
            threads = [threading.Thread(target=self.attack_until, args=(end, self.seed + at))
                       for at in range(THREADS)]
            for thread in threads:
                thread.start()
            self.squeeze_until(end)
            self.is_over.set()
            for thread in threads:
                thread.join(PATIENCE_S)
            self.calm()
            self.check()
            self.stop()
        finally:
            self.is_over.set()
            for close in self.closers:
                close()
            self.programs.end()
        if self.errors:
            raise self.errors[0]

    def attack_until(self, end, seed):
        rng = random.Random(seed)
        try:
            while time.monotonic() < end and not self.is_over.is_set():
                with contextlib.suppress(OSError):
                    self.attack(rng)
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def squeeze_until(self, end):
        rng = random.Random(self.seed - 1)
        checked = time.monotonic()
        while time.monotonic() < end and not self.errors:
            self.squeeze(rng)
            self.is_over.wait(rng.uniform(*SHORT_S))
            self.release()
            self.is_over.wait(rng.uniform(*ENOUGH_S))
            self.look()
            if time.monotonic() - checked > CHECK_S:
                self.check()
                checked = time.monotonic()

    def squeeze(self, rng):
        for program, (_, hard) in self.targets:
            with contextlib.suppress(OSError):
                used = len(os.listdir(f"/proc/{program.pid}/fd"))
                soft = max(used + rng.randint(-3, 12), 4)
                resource.prlimit(program.pid, resource.RLIMIT_NOFILE, (soft, hard))

    def release(self):
        for program, limits in self.targets:
            with contextlib.suppress(OSError):
                resource.prlimit(program.pid, resource.RLIMIT_NOFILE, limits)

    def look(self):
        """They live and have nothing to report."""
        for program in self.programs.all:
            assert program.poll() is None, f"{program.name} has ended\n{self.tell(program)}"
            if program.path.stat().st_size > LOG_OCTETS_MAX:
                assert not REPORT.search(program.log()), self.tell(program)
                os.truncate(program.path, 0)

    def stop(self):
        for program in reversed(self.programs.all):
            status = program.stop(PATIENCE_S)
            assert status == 0, f"{program.name} ended with {status}\n{self.tell(program)}"
            assert not REPORT.search(program.log()), self.tell(program)

    @staticmethod
    def tell(program):
        """From the first report on, or the last lines."""
        log = program.log()
        found = REPORT.search(log)
        return log[max(found.start() - 500, 0):][:8000] if found else program.tail()


def mutated(octets, rng):
    """Octets that differ in a few places; now and then the same."""
    out = bytearray(octets)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        rng.choice((flip, insert, delete, cut, double))(out, at, rng)
    return bytes(out)


def flip(out, at, rng):
    if at < len(out):
        out[at] = rng.choice((out[at] ^ 1 << rng.randrange(8), 0, 0xff, rng.randrange(256)))


def insert(out, at, rng):
    out[at:at] = rng.randbytes(rng.choice((1, 2, 8, 300)))


def delete(out, at, rng):
    del out[at:at + rng.choice((1, 2, 8, 64))]


def cut(out, at, _rng):
    del out[at:]


def double(out, at, rng):
    out[at:at] = out[at:at + rng.choice((2, 16, 256))]


def seeds_of(*names):
    """Octets of the fuzz targets' seeds."""
    return [path.read_bytes() for name in names
            for path in sorted((harness.ROOT / "tests" / "fuzz" / "seeds" / name).iterdir())]


def run(name, seconds, folder):
    # They need what is here.
    from hostile_api import ApiSoak  # pylint: disable=import-outside-toplevel
    from hostile_dns import DnsSoak  # pylint: disable=import-outside-toplevel
    from hostile_http import HttpSoak  # pylint: disable=import-outside-toplevel
    kinds = {"dns": DnsSoak, "http": HttpSoak, "api": ApiSoak}
    seed = int(os.environ.get("SOAK_SEED", random.randrange(1 << 30)))
    print(f"soak {name}: seed {seed}, {seconds} s, {folder}", flush=True)
    kinds[name](folder, seed).run(seconds)
    print(f"soak {name}: ok", flush=True)


def main():
    name, seconds, *more = sys.argv[1:]
    sys.modules["soak"] = sys.modules[__name__]
    folder = pathlib.Path(more[0] if more else tempfile.mkdtemp(prefix=f"signpost-soak-{name}-"))
    folder.mkdir(parents=True, exist_ok=True)
    run(name, float(seconds), folder)


if __name__ == "__main__":
    main()
