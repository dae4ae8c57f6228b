"""The linter and real CoreDNS judge the same Corefiles.

CoreDNS comes in two releases, each as a program of `tests/coredns/newer` and `tests/coredns/older`
that also gives results without starting (`tests/coredns/results`).
"""

import collections
import re

import build
import checkers
from corefiles import Corefile
from differences import DELIBERATE, cause_of, kind_of
from harness import LOOPBACK, free_port

LEAST = 2000
SHOWN = 30
SAMPLE = 24
# Blocks that need nothing but a port to be served.
PLAIN = re.compile(r"\. \{\n    (errors|log|cache|forward|hosts|rewrite|template|acl|any|chaos|"
                   r"loadbalance|bufsize|dns64|whoami)\b(?!.*(resolv|missing|tls))", re.DOTALL)


def differences(session):
    """{name: its kind} of all that both checkers differ on."""
    kinds = {name: kind_of(result, session.errors[name]) for name,
             result in session.results.items()}
    return {name: kind for name, kind in kinds.items() if kind}


def show(session, name, kind):
    errors = [f"    linter: {error}" for error in session.errors[name]]
    return "\n".join([f"{name} is {kind}: {session.named[name].text!r}",
                      f"    CoreDNS: {session.results[name] or 'accepts it'}", *errors[:4]])


def test_there_are_many_files_of_both_sorts(session):
    counts = collections.Counter(result is None for result in session.results.values())
    assert counts[True] + counts[False] == len(session.named) >= LEAST
    assert min(counts.values()) > LEAST / 4


def test_each_difference_has_its_reason(session):
    release = session.coredns.version
    strange = [show(session, name, kind) for name, kind in differences(session).items()
               if cause_of(release, session.results[name], session.errors[name]) is None]
    assert not strange, f"{len(strange)} differences:\n" + "\n".join(strange[:SHOWN])


def test_the_first_error_is_the_one_that_coredns_prints(sessions):
    """Of the release whose order of plugins the linter has."""
    session = sessions[build.COREDNS[0].version]
    assert ({name for name, messages in session.messages.items() if messages} ==
            {name for name, errors in session.errors.items() if errors})
    wrong = []
    for name in set(session.named) - set(differences(session)):
        result, messages = session.results[name], session.messages[name]
        if result and not (result.is_like(messages[0]) and result.line == messages[0].line):
            wrong.append(f"{show(session, name, 'reported otherwise')}\n    first: {messages[0]}")
    assert not wrong, f"{len(wrong)} files:\n" + "\n".join(wrong[:SHOWN])


def test_each_reason_is_needed(sessions):
    used = {cause_of(release, session.results[name], session.errors[name])
            for release, session in sessions.items() for name in differences(session)}
    assert [row.words for row in DELIBERATE if row not in used] == []


def test_a_verdict_does_not_depend_on_those_before_it(session):
    names = list(session.named)[::-2]
    again = session.coredns.results(session.folder, names)
    assert [str(again[name]) for name in names] == [str(session.results[name]) for name in names]


def sample(names):
    return names[::max(1, len(names) // SAMPLE)][:SAMPLE]


def test_coredns_itself_refuses_with_the_same_words(session):
    """What the network says is said otherwise."""
    names = [name for name, result in session.results.items()
             if result and "lookup" not in result.text and result.text != "hangs"]
    for name in sample(names):
        assert str(session.coredns.refusal(session.folder, name)) == str(session.results[name])


def test_what_is_said_when_servers_start_is_said_by_coredns_itself(sessions):
    session = sessions[build.COREDNS[0].version]
    text = f".:{free_port()} {{\n    bind {LOOPBACK}\n    k8s_external example.org\n}}\n"
    Corefile(text).write(session.folder, "alone")
    linter = checkers.Linter(session.coredns.version)
    errors = linter.errors(session.folder, ["alone"])["alone"]
    refusal = session.coredns.refusal(session.folder, "alone")
    assert len(errors) == 1 and refusal.is_like(errors[0]), (str(refusal), *map(str, errors))


def test_coredns_itself_accepts_what_it_said_it_would(session):
    """Each block listens on loopback alone, which leaves it what it was."""
    names = [name for name, corefile in session.named.items()
             if session.results[name] is None and PLAIN.match(corefile.text) and
             corefile.text.count("\n}\n") == 1]
    for name in sample(names):
        text = session.named[name].text.replace("{\n", f"{{\n    bind {LOOPBACK}\n", 1)
        Corefile(text).write(session.folder, "bound")
        assert session.coredns.results(session.folder, ["bound"]) == {"bound": None}, text
        session.coredns.start(session.folder, "bound", free_port())
