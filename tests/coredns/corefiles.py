"""Corefiles for CoreDNS and the linter to check, the same ones on every run.

What a file is worth is not known here: each one differs a little from what people write, and both
checkers are asked.
"""

import itertools
import random
import re

from grammar import (BINDS, CHECKED, NEEDED, PORTS, REFUSED, RIVALS, SCHEMES, STRUCTURES, UNCHECKED,
                     UNLINKED, WORDS)

SLOT = re.compile(r"<(\w+)>")
STEM = "STEM"  # stands for the name of the Corefile; what it imports has that name with an ending
ZONES = [".", "example.org", "a.example b.example", "lan.", "10.in-addr.arpa, corp.example",
         "x.:5353"]
# What environment variables hold.
VARIABLES = {"ZONE": "example.org", "UPSTREAM": "192.0.2.53", "TWO": "a.example b.example",
             "PORT": "5353"}
MIXTURES = 1600
SEED = 20


class Corefile:
    """A text, and by their endings the files beside it that it imports."""

    def __init__(self, text, **beside):
        self.text = text
        self.beside = beside

    def write(self, folder, name):
        texts = {"": self.text, **{f".{ending}": text for ending, text in self.beside.items()}}
        for ending, text in texts.items():
            octets = text.replace(STEM, name).encode("utf-8", "surrogateescape")
            (folder / f"{name}{ending}").write_bytes(octets)


# ---- one thing at a time ------------------------------------------------------------------------

def filled(form, at=-1, word=""):
    """The form with the first word of each kind, and with that word in one place."""
    kinds = SLOT.findall(form)
    words = iter([word if i == at else WORDS[kind][0] for i, kind in enumerate(kinds)])
    return SLOT.sub(lambda _: next(words), form)


def variants(form):
    """The form with each word in each place, one place at a time."""
    kinds = SLOT.findall(form)
    if not kinds:
        return [form]
    return [filled(form, at, word) for at, kind in enumerate(kinds) for word in WORDS[kind]]


def directive(header, options=()):
    lines = "".join(f"        {option}\n" for option in options)
    return f"{header} {{\n{lines}    }}" if options else header


def block(*directives, zones="."):
    return f"{zones} {{\n" + "".join(f"    {each}\n" for each in directives) + "}\n"


def needed(name):
    return [NEEDED[name]] if name in NEEDED else []


def headers_of(name, headers):
    for header in headers:
        for text in variants(header):
            yield block(directive(text, needed(name)))
        yield block(directive(filled(header) + " surplus", needed(name)))


def options_of(name, header, options):
    for option in options:
        for text in variants(option):
            yield block(directive(header, [*needed(name), text]))
        text = filled(option)
        for broken in ([text + " surplus"], [text.rpartition(" ")[0] or "x"], [text, text],
                       [text + " {", "}"],
                       [f'"{text}"'], [text.capitalize()]):
            yield block(directive(header, [*needed(name), *broken]))
        yield block(f"{header} {{ {text} }}")
        yield block(f"{header} {{ {text}", "}")


def shapes_of(name, header):
    whole = directive(header, needed(name))
    return [block(whole, whole), block(directive(header, [*needed(name), "nonsense"])),
            block(f"{header} {{", "}"),
            block(f"{header} {{ }}"), block(f"{header} {{"), block(f"{header} }}"),
            block(f"{header} x {{ }}"),
            block(name.capitalize()), block(name + "x"), block(f'"{header}"'), whole + "\n",
            block(whole, zones="a.example") + block(whole, zones="b.example")]


def one_by_one():
    for name, (headers, options) in CHECKED.items():
        header = filled(headers[0])
        yield from headers_of(name, headers)
        yield from options_of(name, header, options)
        yield from shapes_of(name, header)
    for name, (headers, options) in UNCHECKED.items():
        yield block(directive(headers[0], options))
        yield from (block(header) for header in headers)
        yield block(f"{name} {{", "}")
        yield block(f"{name} }}")
    for name in UNLINKED:
        yield block(name)
        yield block(f"{name} {{", "}")


def addresses():
    for zone in WORDS["zone"]:
        yield block("whoami", zones=zone)
        yield block("whoami", zones=f"{zone}:5353")
    for scheme, host in itertools.product(SCHEMES, ["example.org", "example.org:5353", "10.0.0.0/8",
                                                    ".", ""]):
        yield block("whoami", zones=scheme + host)
    for port, host in itertools.product(PORTS, [".", "example.org", "10.0.0.0/8", "2001:db8::/33"]):
        yield block("whoami", zones=host + port)
    for one, two in itertools.product(RIVALS, RIVALS):
        yield block("whoami", zones=one) + block("whoami", zones=two)
        yield block("whoami", zones=f"{one} {two}")
    for one, two in itertools.product(BINDS, BINDS):
        yield block(one) + block(two)
        yield block(one, zones="tls://.:53") + block(two)


# ---- many things at a time ----------------------------------------------------------------------

class Mixer:
    """Files as people write them, with a fault here and there."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.unchecked = [name for name in UNCHECKED if name not in REFUSED]

    def word(self, kind):
        words = WORDS[kind]
        return words[0] if self.random.random() < 0.9 else self.random.choice(words)

    def fill(self, form):
        return SLOT.sub(lambda found: self.word(found[1]), form)

    def directive(self, name):
        headers, options = {**CHECKED, **UNCHECKED}[name]
        header = headers[0] if self.random.random() < 0.7 else self.random.choice(headers)
        some = self.random.sample(options, min(len(options), self.random.choice([0, 0, 1, 1, 2,
                                                                                 3])))
        return directive(self.fill(header), [*needed(name), *map(self.fill, some)])

    def block(self):
        names = self.random.sample(list(CHECKED), self.random.randint(1, 7))
        names += self.random.sample(self.unchecked, self.random.choice([0, 0, 0, 1]))
        return block(*map(self.directive, names), zones=self.random.choice(ZONES))

    def corefile(self):
        text = "".join(self.block() for _ in range(self.random.choice([1, 1, 2, 3])))
        corefile = Corefile(text)
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            self.random.choice(MUTATIONS)(self.random, corefile)
        return corefile


def words_of(text):
    """(begin, end) of each word."""
    return [found.span() for found in re.finditer(r"\S+", text)]


def with_word(change):
    """A mutation of one word."""
    def mutate(chance, corefile):
        text = corefile.text
        spans = words_of(text)
        if spans:
            begin, end = chance.choice(spans)
            corefile.text = text[:begin] + change(chance, text[begin:end]) + text[end:]
    return mutate


def with_line(change):
    """A mutation of one line, which becomes several or none."""
    def mutate(chance, corefile):
        lines = corefile.text.splitlines(keepends=True)
        if lines:
            at = chance.randrange(len(lines))
            corefile.text = "".join(lines[:at] + change(chance, lines[at]) + lines[at + 1:])
    return mutate


def insert_word(word):
    return with_word(lambda chance, old: chance.choice([f"{word} {old}", f"{old} {word}",
                                                        f"{old}{word}"]))


def misspell(chance, word):
    at = chance.randrange(len(word))
    return word[:at] + chance.choice(["", "x", word[at] * 2]) + word[at + 1:]


def move_to_snippet(chance, corefile):
    lines = corefile.text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    to = min(len(lines), at + chance.randint(1, 4))
    name = chance.choice(["s", "common", "a.b", "s"])
    corefile.text = (f"({name}) {{\n" + "".join(lines[at:to]) + "}\n" + "".join(lines[:at]) +
                     f"import {name}\n" + "".join(lines[to:]))


def move_to_file(chance, corefile):
    lines = corefile.text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    to = min(len(lines), at + chance.randint(1, 4))
    pattern = chance.choice([f"{STEM}.part", f"{STEM}.p*", f"./{STEM}.part", f"{STEM}.part x",
                             f"{STEM}.?art"])
    corefile.beside["part"] = "".join(lines[at:to])
    corefile.text = "".join(lines[:at]) + f"import {pattern}\n" + "".join(lines[to:])


def end_early(chance, corefile):
    corefile.text = corefile.text[:chance.randrange(len(corefile.text) + 1)]


def carriage_returns(_, corefile):
    corefile.text = corefile.text.replace("\n", "\r\n")


def byte_order_mark(_, corefile):
    corefile.text = "\ufeff" + corefile.text


MUTATIONS = [
    *(insert_word(word) for word in ("{", "}", "#", "# x", '"', '""', ",", "{$NONE}", "\\",
                                     "import", "\xa0", "x")),
    with_word(lambda _, word: ""),
    with_word(lambda _, word: f"{word} {word}"),
    with_word(lambda _, word: f'"{word}"'),
    with_word(lambda _, word: word.upper()),
    with_word(lambda _, word: f"\n{word}"),
    with_word(lambda _, word: f"{word}\n"),
    with_word(lambda chance, _: "{$%s}" % chance.choice(list(VARIABLES))),
    with_word(lambda chance, _: "{%%%s%%}" % chance.choice(list(VARIABLES))),
    with_word(misspell),
    with_word(misspell),
    with_line(lambda _, line: []),
    with_line(lambda _, line: [line, line]),
    with_line(lambda _, line: [line.rstrip("\n")]),
    with_line(lambda _, line: ["# " + line]),
    with_line(lambda chance, line: [line, chance.choice(["}\n", "{\n", "nonsense\n",
                                                         "import none*\n",
                                                          "import none\n", "example.net {\n"])]),
    move_to_snippet, move_to_file, end_early, carriage_returns, byte_order_mark,
]


def corefiles():
    """All of them, without those that come again."""
    mixer = Mixer(SEED)
    plain = itertools.chain(one_by_one(), addresses(), STRUCTURES)
    for text in dict.fromkeys(each for each in plain if isinstance(each, str)):
        yield Corefile(text)
    for _ in range(MIXTURES):
        yield mixer.corefile()
