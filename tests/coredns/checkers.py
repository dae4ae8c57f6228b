"""What CoreDNS and the linter say of Corefiles."""

import json
import os
import re
import subprocess

import build
from corefiles import VARIABLES
from harness import SIGNPOST, Program, wait_until

HANG_S = 1800
SHOWN_MAX = 900
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
MESSAGE = re.compile(r"(?P<prefix>(?:plugin/\w+: )*)"
                     r"(?P<file>[^\s:]+):(?P<line>\d+) - "
                     r"(?:Error during parsing: |(?P<kind>Syntax error: ))"
                     r"(?P<text>.*)", re.DOTALL)
# A line of the linter; others are hints.
PRINTED = re.compile(r"(?! {4})(?P<text>.*) \[[\w-]+(?: (?:at|in) (?P<path>[^\]:]+)[^\]]*)?\]")
# Files that plugins name. What they hold decides nothing but whether they can be read.
BESIDE = {"resolv.conf": "nameserver 192.0.2.53\n", "empty.conf": "# no name server\n",
          "db.example": "@ 3600 IN SOA a.example. b.example. 1 7200 3600 1209600 3600\n",
          "hosts": "192.0.2.1 a.example\n", "weights": "www.example\n192.0.2.1 3\n",
          "kubeconfig": json.dumps({"apiVersion": "v1", "kind": "Config",
                                    "current-context": "default",
                                    "clusters": [{"name": "c",
                                                  "cluster": {"server": "http://127.0.0.1:1"}}],
                                    "contexts": [{"name": "default",
                                                  "context": {"cluster": "c"}}]})}


class Finding:
    """One message: its text without its place, and the place, where there is one."""

    def __init__(self, text, file="", line=0):
        self.text = text
        self.file = os.path.basename(file)
        self.line = line

    def __str__(self):
        place = f"{self.file}:{self.line}: " if self.line else ""
        return place + self.text

    def is_like(self, other):
        """Does `other`, of the linter, say the same? It always has a place, may have a hint behind
        the words, and shows a blank for each line feed, and the beginning of a very long text."""
        words = CONTROL.sub(" ", self.text.rstrip("\n"))[:SHOWN_MAX]
        rest = other.text.removeprefix(words)
        has_words = rest == "" or len(words) == SHOWN_MAX or rest.startswith(" (")
        is_there = not self.line or (self.file, self.line) == (other.file, other.line)
        return other.text.startswith(words) and has_words and is_there


def finding_of(message):
    """What CoreDNS prints, taken apart."""
    found = MESSAGE.fullmatch(message)
    if not found:
        return Finding(message)
    text = found["prefix"] + (found["kind"] or "") + found["text"]
    return Finding(text, found["file"], int(found["line"]))


class CoreDNS:
    """One release; the program that the tests build."""

    def __init__(self, minor):
        self.version = minor.version
        self.path = minor.path("coredns")
        assert not minor.missing(), "no CoreDNS: run scripts/setup test"

    def environment(self):
        return {"PATH": os.environ["PATH"], **VARIABLES}

    def results(self, folder, names):
        """{name: None if it is accepted, else the Finding}"""
        found = {}
        rest = list(names)
        while rest:
            done = self.some_results(folder, rest)
            assert done, f"no result on {rest[0]}"
            found.update(done)
            rest = rest[len(done):]
        return found

    def some_results(self, folder, names):
        """The same, up to the first file on which CoreDNS hangs."""
        result = subprocess.run([self.path, "check"], cwd=folder, env=self.environment(),
                                input="\n".join(str(folder / name) for name in names),
                                capture_output=True, text=True, timeout=HANG_S, check=True)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        return {os.path.basename(row["path"]): Finding("hangs") if row["hangs"] else
                finding_of(row["error"]) if row["error"] else None for row in rows}

    def refusal(self, folder, name):
        """The Finding with which the program itself ends when it is started with a Corefile."""
        result = subprocess.run([self.path, "-conf", folder / name], cwd=folder,
                                env=self.environment(), capture_output=True, text=True,
                                timeout=HANG_S, check=False)
        assert result.returncode == 1, result.stdout + result.stderr
        return finding_of(result.stderr.removesuffix("\n"))

    def start(self, folder, name, port):
        """Starts the program itself, waits until it serves, and ends it."""
        program = Program(name, [self.path, "-conf", folder / name, "-dns.port", port],
                          folder / "log")
        try:
            wait_until(lambda: re.search(r"^CoreDNS-\d", program.log(), re.MULTILINE), "no CoreDNS",
                       programs=[program])
        finally:
            program.kill()


class Linter:
    """signpost corefile check, for one release."""

    def __init__(self, version):
        self.version = version

    def check(self, folder, names, *words):
        """What it prints."""
        for key, value in VARIABLES.items():
            words += "--env", f"{key}={value}"
        command = [SIGNPOST, "corefile", "check", "--coredns", self.version, *words]
        result = subprocess.run([*command, *(folder / name for name in names)], capture_output=True,
                                text=True, timeout=HANG_S, check=False)
        assert result.returncode in (0, 1), result.stderr
        return result.stdout

    def errors(self, folder, names):
        """{name: the errors by line; none if it is accepted}"""
        found = {name: [] for name in names}
        for row in json.loads(self.check(folder, names, "-o", "json"))["findings"]:
            if row["level"] == "error":
                found[name_of(row["file"])].append(Finding(row["text"], row["file"], row["line"]))
        return found

    def messages(self, folder, names):
        """{name: the errors as CoreDNS prints them, in the order in which it would}"""
        found = {name: [] for name in names}
        for line in self.check(folder, names).splitlines()[:-1]:
            message = PRINTED.fullmatch(line)
            if message and " - Warning: " not in line:
                finding = finding_of(message["text"])
                found[name_of(message["path"] or finding.file)].append(finding)
        return found


def name_of(path):
    """Of the Corefile that a path belongs to."""
    return os.path.basename(path).partition(".")[0]


def write_all(folder, corefiles):
    """{name: Corefile}, each written under its name."""
    for name, text in BESIDE.items():
        (folder / name).write_text(text)
    named = {f"{at:05}": corefile for at, corefile in enumerate(corefiles)}
    for name, corefile in named.items():
        corefile.write(folder, name)
    return named


def all_coredns():
    return [CoreDNS(minor) for minor in build.COREDNS]
