"""Commands of Signpost that the guide and the README name anywhere, run by another test or not, are
there, with the options that they are given."""

import functools
import re

import pytest

from harness import ROOT, run

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
SPAN = re.compile(r"`(signpost [^`]+)`", re.S)
LINE = re.compile(r"^(?:    )?(?:.*[|(] *)?(signpost [a-z].*)$", re.M)
BLOCK = re.compile(r"^```(?:text|yaml|conf|console)\n.*?^```$", re.M | re.S)
OPTION = re.compile(r"^(--[a-z][a-z0-9-]*|-[a-zA-Z])(?:=|$)")
ENDS = re.compile(r"[|;&<>)]|2>")


@functools.cache
def commands():
    rows = run("help")[1].split("Commands:\n")[1].split("\n\n")[0].splitlines()
    return {row[2:].split("  ")[0] for row in rows}


@functools.cache
def options_of(command):
    """Those of its help, long and short, and those that go by a common name."""
    return set(re.findall(r"--[a-z][a-z0-9-]*|(?<![\w-])-[a-zA-Z]\b",
                          run("help", "--all", *command.split())[1])) | {"--help", "-h"}


def named(text):
    """Words of each command of ours in it, up to where the shell goes on."""
    text = text.replace("\\\n", " ")
    for found in [*SPAN.findall(text), *LINE.findall(BLOCK.sub("", text))]:
        words = ENDS.split(" ".join(found.split()))[0].split()
        if len(words) > 1 and re.fullmatch(r"[a-z-]+", words[1]):
            yield words


def faults(text):
    for words in named(text):
        command = next((name for name in (" ".join(words[1:3]), words[1]) if name in commands()), None)
        if not command:
            yield f"{' '.join(words)}: no such command"
            continue
        for word in words[2:]:
            found = OPTION.match(word)
            if found and found[1] not in options_of(command):
                yield f"{' '.join(words)}: no option {found[1]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page):
    assert list(faults(page.read_text())) == []


def test_what_is_not_there_is_found():
    assert list(faults("`signpost status --dir manifests` and `signpost stauts`\n\n"
                       "    signpost run --dri manifests | grep --count x\n")) == [
        "signpost stauts: no such command", "signpost run --dri manifests: no option --dri"]
