"""A guide page that is done as it says: its `sh` blocks run one after the other in one shell, in an
empty folder; a `yaml` or `conf` block is the file that its first line names; a `text` block is what
the block before it shows. Blocks of other languages are for reading.

In a `text` block, `...` stands for anything, and a line of it for any lines; lengths of time, times
of day and the width of columns may differ. A block that only looks is looked through again until it
shows what the page says. Ports are others than the page's, so that tests do not meet.
"""

import itertools
import os
import re
import shlex
import subprocess
import time

import harness
from harness import wait_until

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"# ([\w./-]+)")
LOOKS = re.compile(r"kubectl (-n \S+ )?(get|describe|auth can-i|apply .*--dry-run=server)|curl|grep|k?dig"
                   r"|signpost (check|import|render|status|who|zone|corefile)"
                   r"|(for .*; do|done)$")
REFUSED = re.compile(r"^(Error from server|error:|The request is invalid)"
                     r"|(?:objects?|files?): .*\b([1-9]\d* errors?,|\d+ ready, [1-9]\d* not)"
                     r"|^Nobody declares |^\S.* (is|are) not as ", re.M)
VARIES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<![\w.])(\d+(ms|s|m|h|d))+(?![\w.])")
BLOCK_S = 180
LOOK_S = 15
ENV = ("PATH", "LANG", "TMPDIR")


class Block:
    def __init__(self, language, text, line):
        self.language = language
        self.text = text
        self.line = line
        self.shown = None

    def only_looks(self):
        lines = re.sub(r"\\\n", " ", self.text).splitlines()
        return all(LOOKS.match(line.strip()) for line in lines
                   if line and not line.startswith("#"))

    def file(self):
        """The file that it is, or None."""
        found = FILE.fullmatch(self.text.splitlines()[0])
        return found[1] if self.language in ("yaml", "conf") and found else None

    def must_fail(self):
        return self.shown is not None and bool(REFUSED.search(self.shown))


def read(path):
    text = path.read_text()
    blocks = []
    for found in BLOCK.finditer(text):
        block = Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        if block.language == "text":
            assert blocks[-1].language == "sh", f"line {block.line}: output of what?"
            blocks[-1].shown = block.text
        else:
            blocks.append(block)
    return blocks


def read_files(path):
    """Text by name of the files that the page has."""
    return {block.file(): block.text for block in read(path) if block.file()}


def plain(line):
    return " ".join(VARIES.sub("0s", line).split())


def pattern(line):
    return ".*".join(re.escape(part.strip()) if part.strip() else "" for part in
                     plain(line).split("..."))


def is_shown(wanted, output):
    """Whether the output is what the page shows, all of it."""
    lines = [plain(line) for line in output.splitlines() if line.strip()]
    rest = [line for line in wanted.splitlines() if line.strip()]
    return matches(rest, lines)


def matches(wanted, lines):
    if not wanted:
        return not lines
    if wanted[0].strip() == "...":
        return any(matches(wanted[1:], lines[skipped:]) for skipped in range(len(lines) + 1))
    return bool(lines) and bool(re.fullmatch(pattern(wanted[0]), lines[0])) and \
        matches(wanted[1:], lines[1:])


class Shell:
    """One bash, started behind the words `within`; what it starts in the background dies with it.
    `programs` are found by name."""

    def __init__(self, folder, programs, within=(), **environment):
        self.folder = folder
        self.marks = map("mark-{}".format, itertools.count())
        self.output = folder.parent / "shell.out"
        tools = folder.parent / "tools"
        tools.mkdir()
        for name, path in programs.items():
            tool = tools / name
            tool.write_text("#!/bin/sh\nexec setpriv --pdeathsig KILL "
                            f'{shlex.quote(str(path))} "$@"\n')
            tool.chmod(0o755)
        kept = {key: os.environ[key] for key in ENV if key in os.environ}
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *within, "bash"], stdin=subprocess.PIPE, stdout=out,
                stderr=out, cwd=folder,
                env={**kept, "HOME": str(folder), **environment,
                     "PATH": f"{tools}:{os.environ['PATH']}"})
        self.run("set -o pipefail; trap 'failed=yes' ERR")

    def run(self, text):
        """(whether all of it succeeded, its output)"""
        start = self.output.stat().st_size
        mark = next(self.marks)
        self.process.stdin.write(f"failed=no\n{text}\necho {mark} $failed\n".encode())
        self.process.stdin.flush()
        end = re.compile(rf"^{mark} (yes|no)$", re.M)

        def written():
            with open(self.output, "rb") as out:
                out.seek(start)
                return out.read().decode(errors="replace")
        wait_until(lambda: end.search(written()) or self.process.poll() is not None,
                   lambda: f"the end of\n{text}\n{written()}", BLOCK_S)
        output = written()
        found = end.search(output)
        assert found, f"the shell ended:\n{text}\n{output}"
        return found[1] == "no", output[:found.start()]

    def end(self):
        """What runs in the background gets SIGTERM, and what stays a SIGKILL."""
        if self.process.poll() is None:
            self.process.stdin.write(b"\nkill $(jobs -p) 2>/dev/null; sleep 0.3; "
                                     b"kill $(jobs -p) 2>/dev/null; wait; exit\n")
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


class Guide:
    def __init__(self, path, shell, ports):
        self.path = path
        self.shell = shell
        self.ports = {}
        self.name_ports({port: harness.free_port() for port in ports})

    def name_ports(self, ports):
        """{what the page says: what it is here}"""
        self.ports |= {str(shown): str(here) for shown, here in ports.items()}
        self.ports_pattern = re.compile(r"(?<=[: =@])(" + "|".join(self.ports) + r")\b")

    def port(self, shown):
        return int(self.ports[str(shown)])

    def here(self, text):
        """With the ports that it has here."""
        return self.ports_pattern.sub(lambda found: self.ports[found[1]], text)

    def line_of(self, heading):
        return self.path.read_text().splitlines().index(heading) + 1

    def follow(self, since=None, until=None):
        """From one heading to another; all of it when none is named."""
        first = self.line_of(since) if since else 0
        last = self.line_of(until) if until else float("inf")
        for block in read(self.path):
            if not first <= block.line < last:
                continue
            if block.language in ("yaml", "conf"):
                self.write(block)
            elif block.language == "sh":
                self.run(block)

    def write(self, block):
        name = block.file()
        assert name, f"{self.path.name}:{block.line}: which file?"
        (self.shell.folder / name).write_text(self.here(block.text))

    def run(self, block):
        limit = harness.Limit(LOOK_S if block.only_looks() else 0)
        while True:
            is_good, output = self.shell.run(self.here(block.text))
            fault = self.fault(block, is_good, output)
            if not fault:
                return
            assert not limit.is_over(), \
                f"{self.path.name}:{block.line}: {fault}\n{block.text}\nshows\n{output}"
            time.sleep(0.2)

    def fault(self, block, is_good, output):
        if is_good == block.must_fail():
            return "it fails" if not is_good else "it does not fail"
        if block.shown is not None and not is_shown(self.here(block.shown), output):
            return f"the page says\n{self.here(block.shown)}"
        return None
