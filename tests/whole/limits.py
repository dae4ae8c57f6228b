"""Limits of memory and CPU as a container has them, for a program that a test starts.

In a cgroup of version 2 where one can be made here. Elsewhere the kernel refuses the program memory
beyond the limit (RLIMIT_DATA: heap and private pages that can be written; what it reserves only, and
the files that it maps, do not count, so RLIMIT_AS would be too strict), and a thread stops it for
the rest of each period in which it has used up its share of the CPU, as the kernel's quota does.
Whatever is longer overdue is paid back in the periods that follow.
"""

import contextlib
import os
import pathlib
import signal
import threading
import time

from harness import wait_until

PERIOD_S = 0.1
LOOK_S = 0.002
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def octets_of(text):
    """Of a Kubernetes quantity: 64Mi."""
    return int(text[:-2]) * UNITS[text[-2:]]


def share_of(text):
    """Of one CPU: 100m is a tenth."""
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def _groups():
    """Folders that groups with both limits may be made in: that of our own, and the one above."""
    try:
        mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        own = next(line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                   if line.startswith("0::"))
    except (OSError, StopIteration):
        return
    for row in mounts:
        if row[2] == "cgroup2":
            place = pathlib.Path(row[1] + own)
            yield from (place, place.parent)


def _is_fit(place):
    try:
        handed_on = (place / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return {"memory", "cpu"} <= set(handed_on) and os.access(place, os.W_OK)


class Limits:
    """`with Limits("64Mi", "100m") as limits:` start a program behind limits.before(), then
    limits.hold(program)."""

    def __init__(self, memory, cpu):
        self.octets = octets_of(memory)
        self.share = share_of(cpu)
        self.group = None
        self.threads = []

    def __enter__(self):
        for place in filter(_is_fit, _groups()):
            with contextlib.suppress(OSError):
                made = place / f"signpost-test-{os.getpid()}"
                made.mkdir()
                self.group = made
                (made / "memory.max").write_text(str(self.octets))
                (made / "cpu.max").write_text(f"{int(self.share * 100000)} 100000")
                break
        return self

    def __exit__(self, *_):
        for thread in self.threads:
            thread.end()
        if self.group:
            with contextlib.suppress(OSError):
                self.group.rmdir()  # else what is in it still ends

    def before(self):
        """Words that the command stands behind."""
        if self.group:
            return ["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', self.group]
        return ["prlimit", f"--data={self.octets}", "--"]

    def hold(self, program):
        """Its share of the CPU from now on."""
        if not self.group:
            self.threads.append(Throttle(program, self.share))

    def check(self, program):
        """It lives, and never had more than that in memory, mapped files included."""
        assert program.poll() is None, program.tail()
        peak = peak_octets(program)
        assert peak < self.octets, f"{peak} octets\n{program.tail()}"
        for thread in self.threads:
            thread.check()


def _status(program, key):
    text = pathlib.Path(f"/proc/{program.pid}/status").read_text()
    return next(line.split()[1] for line in text.splitlines() if line.startswith(key + ":"))


def peak_octets(program):
    return int(_status(program, "VmHWM")) * 1024


class Throttle:
    def __init__(self, program, share):
        self.program = program
        self.share = share
        self.is_over = threading.Event()
        self.start_s = time.monotonic()
        self.start_cpu_s = self.used_s()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def used_s(self):
        """All its threads, in seconds of a CPU."""
        tasks = pathlib.Path(f"/proc/{self.program.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def run(self):
        # Gone with the program.
        with contextlib.suppress(OSError):
            owed_s = 0
            last_s = self.used_s()
            while not self.is_over.is_set():
                used_s, owed_s = self.period(last_s, owed_s)
                last_s = used_s
            self.program.signal(signal.SIGCONT)

    def period(self, last_s, owed_s):
        """Runs until its share is used up; returns (CPU time at its end, what is owed then)."""
        allowed_s = PERIOD_S * self.share
        until = time.monotonic() + PERIOD_S
        is_stopped = False
        while (now := time.monotonic()) < until and not self.is_over.is_set():
            spent_s = owed_s + self.used_s() - last_s
            if spent_s >= allowed_s and not is_stopped:
                self.program.signal(signal.SIGSTOP)
                is_stopped = True
            self.is_over.wait(until - now if is_stopped else LOOK_S)
        used_s = self.used_s()
        owed_s = max(0, owed_s + used_s - last_s - allowed_s)
        if is_stopped and owed_s < allowed_s:
            self.program.signal(signal.SIGCONT)
        return used_s, owed_s

    def over_s(self):
        """What it had beyond its share since the start."""
        passed_s = time.monotonic() - self.start_s
        return self.used_s() - self.start_cpu_s - passed_s * self.share

    def check(self):
        """It had no more than its share. What a look that came late let through is paid back."""
        wait_until(lambda: self.over_s() <= PERIOD_S,
                   lambda: f"{self.over_s()} s too much are paid back", 60, [self.program])

    def end(self):
        self.is_over.set()
        self.thread.join(10)
