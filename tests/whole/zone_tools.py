"""The checkers of zone files that others wrote, each as strict as can be, and what Signpost
says of the same file."""

import collections
import json
import re
import subprocess

import dns.exception
import dns.name
import dns.rdata
import dns.rdatatype

from harness import HANG_S, SIGNPOST

ORIGIN = "example.org."
# "-i full" would look up names outside of the zone in the DNS; of the zone it finds no more.
STRICT = ("-i", "local", *(word for flag in "kmMnrS" for word in (f"-{flag}", "fail")))
COMMANDS = {
    "named": ("named-checkzone", *STRICT, ORIGIN, "{file}"),
    "knot": ("kzonecheck", "-o", ORIGIN, "{file}"),
    "nsd": ("nsd-checkzone", ORIGIN, "{file}"),
    "validns": ("validns", "-z", ORIGIN, "-p", "all", "{file}"),
    # ldns-verify-zone takes signed zones only, and reads before it verifies.
    "ldns": ("sh", "-c", "ldns-signzone -o example.org -i 20200101000000 -e 20370101000000 "
             "-f {file}.signed {file} {key} && ldns-verify-zone {file}.signed"),
}
TOOLS = tuple(COMMANDS)
SERVERS = ("named", "knot", "nsd")
READERS = (*SERVERS, "validns")
# What is said of zones that are fine, and of the key.
CHATTER = re.compile(r"^OK$|loaded serial|is ok$|^Zone is verified and complete|dns_master_load|"
                     r"not loaded due to errors")
# validns says this of each type that it does not know, and nothing of its data.
UNREAD = "invalid or unsupported rdtype"

Word = collections.namedtuple("Word", "result text")  # refuses, unread, warns or silent


def make_key(folder):
    """The name of a new key for ldns-signzone."""
    done = subprocess.run(["ldns-keygen", "-r", "/dev/urandom", "-a", "ED25519", ORIGIN],
                          cwd=folder, capture_output=True, text=True, check=True, timeout=HANG_S)
    return folder / done.stdout.strip()


def ask(path, key, tools=TOOLS):
    """{tool: Word} of a file, all tools at once."""
    running = {
        tool: subprocess.Popen([word.format(file=path, key=key) for word in COMMANDS[tool]],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, errors="replace")
        for tool in tools}
    return {tool: _word(process) for tool, process in running.items()}


def _word(process):
    text = process.communicate(timeout=HANG_S)[0]
    lines = [line for line in text.splitlines() if line.strip() and not CHATTER.search(line)]
    unread = [line for line in lines if UNREAD in line]
    if process.returncode:
        result = "unread" if unread and unread == lines else "refuses"
    else:
        result = "warns" if lines else "silent"
    return Word(result, "\n".join(lines) or text)


def objecting(words):
    """The tools that find a fault."""
    return {tool for tool, word in words.items() if word.result in ("refuses", "warns")}


def _signpost(*words):
    return subprocess.run([SIGNPOST, *words], capture_output=True, text=True, timeout=HANG_S)


def check(path, *words):
    """(exit code, {(level, reason)}, findings) of `signpost zone check`, of a file or a folder of
    manifests."""
    source = (path,) if path.is_dir() else ("--zonefile", path, "--origin", ORIGIN)
    done = _signpost("zone", "check", *source, "-o", "json", *words)
    assert done.stderr == "", done.stderr
    findings = json.loads(done.stdout)["findings"]
    return done.returncode, {(row["level"], row.get("reason")) for row in findings}, findings


def render(path):
    done = _signpost("zone", "render", ORIGIN, path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(path):
    """The manifests of a zone file."""
    done = _signpost("import", "zone", "--zonefile", path, "--origin", ORIGIN)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def dump(tool, path):
    """{(owner, type, TTL, canonical rdata)} as a tool read them."""
    words = {"named": ("named-checkzone", "-q", "-D", "-o", "-", ORIGIN, path),
             "ldns": ("ldns-read-zone", path)}[tool]
    text = subprocess.run([str(word) for word in words], capture_output=True, check=True,
                          encoding="utf-8", errors="replace", timeout=HANG_S).stdout
    return {_record(*line.split(None, 4)) for line in text.splitlines()}


def _record(owner, ttl, _, type_, data=""):
    name = dns.name.from_text(owner).canonicalize()
    number = dns.rdatatype.from_text(type_)
    try:
        return name, number, int(ttl), dns.rdata.from_text("IN", number, data).to_digestable()
    except dns.exception.SyntaxError:  # KEY, TA, L64 and NID it does not read as they are
        return name, number, int(ttl), "".join(data.split())
