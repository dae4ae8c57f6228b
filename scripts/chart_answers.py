"""What the objects of `signpost manifests` depend on, for scripts/chart: the program is asked once for
each controller and each option that changes more than an argument, alone and in pairs."""

import importlib.machinery
import importlib.util
import itertools
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIGNPOST = pathlib.Path(os.environ.get("SIGNPOST", ROOT / "build/gcc/src/signpost")).resolve()


def load_reference():
    loader = importlib.machinery.SourceFileLoader("reference", str(ROOT / "scripts/reference"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
    loader.exec_module(module)
    return module


REFERENCE = load_reference()

# ---- options and values --------------------------------------------------------------------------

SECTIONS = {"all", "crd", "rbac", "roles", "deployment", "service", "webhook", "alerts",
            "pod-monitor", "network-policy", "dashboard"}
OF_THE_INSTALLATION = {"namespaced", "secret-namespaces", "controllers", "namespaces", "owner-id",
                       "leader-elect-resource-name", "admission", "webhook-url", "metrics-secure",
                       "status-page"}
OTHERWISE = {"namespace", "image", "replicas"}  # Helm's own, or of another form
WATCHED, SECRETS = "example-watched", "example-secrets"
PORTS = {"primary-listen": 5399, "intent-listen": 9116}
# Values that options take for which none can be made up, and that nothing else looks like.
EXAMPLES = {
    "secret-namespaces": [SECRETS], "namespaces": [WATCHED],
    "owner-id": "example-owner", "leader-elect-resource-name": "example-lease",
    "webhook-url": "https://example-hook:9443", "intent-listen": [f":{PORTS['intent-listen']}"],
    "intent-gateway-cidr": ["192.0.2.0/24"], "intent-tls-secret": "example-api-tls",
    "primary-listen": [f":{PORTS['primary-listen']}"], "tsig-secret": "example-tsig",
    "pihole-url": "http://192.0.2.53", "pihole-targets": "example-piholes.yaml",
    "pihole-tls-ca-file": "example-ca.crt", "default-target-ip": ["192.0.2.80"],
    "pihole-tls-server-name": "pi.hole", "pihole-tls-pin": "learn",
    "coredns-image": "registry.example/coredns:1.12.0", "coredns-version": "1.12.0",
    "cluster-domain": "cluster.example", "dns-namespace": "example-dns",
    "ca-namespace": "example-authorities", "dns-cluster-ip": "192.0.2.10",
    "coredns-metrics-address": ":9154", "corefile-path": "/etc/coredns/Corefile",
    "coredns-address": ["192.0.2.11"], "retry-max-delay": "90s", "external-dns-version": "v0.21.0",
    "external-dns-image": "registry.example/external-dns:v0.21.0",
    "zone-nameserver": ["ns1.example.org."],
    "zones-config": "groups:\n- {name: default, servers: [{name: ns1, address: 192.0.2.1}]}\n",
}
WITH_KEYS = "keys:\n- {name: ns1., algorithm: hmac-sha256, secretFile: ns1.key}\n"
TARGETS = "targets:\n- {name: up, url: 'http://192.0.2.54', noPassword: true}\n"
# Always given: without the first there is no Pi-hole, and names are texts to be recognized.
NEEDED = "default-target-ip"
ALWAYS = (NEEDED, "tsig-secret", "dns-namespace", "leader-elect-resource-name")
RICH = ["--primary-listen=:5399", "--zones-config=keys.yaml", "--pihole-url=http://192.0.2.53"]
SCOPE = ("namespaces", "secret-namespaces", "namespaced")
FILES = ("zones-config", "pihole-targets", "pihole-tls-ca-file")
IN_SECRET = "In the chart: the name of the key that holds it in the Secret signpost-pihole."
# What values say otherwise than the program's help does of the flag.
TEXTS = {
    "zones-config": "The zones configuration itself; the Deployment follows as it changes.",
    "tsig-secret": "Secret with the files that keys of zonesConfig name as secretFile; make it "
                   "before you install.",
    "pihole-url": "A Pi-hole that names of Ingresses and routes are kept in, called default; the "
                  "controller ingress runs then. Its token or password is the key token of the "
                  "Secret signpost-pihole.",
}


def name_of(flag):
    """Of the value that stands for it."""
    return re.sub(r"-(\w)", lambda found: found[1].upper(), flag)


class Option:
    def __init__(self, flags, words):
        self.flag = re.match(r"--([\w-]+)", flags)[1]
        self.doc, default, self.variables = REFERENCE.split_doc(words)
        takes = flags.split(",")[0].removeprefix(f"--{self.flag}").strip()
        limits = re.search(r" ?(?:From (\d+) to (\d+)|At least (\d+))\.$", self.doc)
        repeated = " Comma-separated or repeated."
        self.choices = takes.split("|") if "|" in takes else []
        self.low, self.high = (limits[1] or limits[3], limits[2]) if limits else (None, None)
        self.type = ("flag" if not takes else "list" if self.doc.endswith(repeated)
                     or takes == "ADDR:PORT" and self.flag == "primary-listen" else
                     "int" if limits else "text")
        self.doc = self.doc.removesuffix(repeated)
        self.default = {"flag": default == "true", "list": [],
                        "int": int(default) if default.isdigit() else None}.get(self.type, default)
        self.name = name_of(self.flag)
        self.is_setting = self.flag not in OF_THE_INSTALLATION
        self.value = f"$.Values.{'settings.' if self.is_setting else ''}{self.name}"
        self.doc = TEXTS.get(self.flag, self.doc)
        if self.flag in FILES and self.flag not in TEXTS:
            self.doc = f"{self.doc} {IN_SECRET}"

    @property
    def example(self):
        if self.flag in EXAMPLES:
            return EXAMPLES[self.flag]
        if self.type == "flag":
            return not self.default
        if self.type == "int":
            return int(self.low) + 3
        return self.choices[-1] if self.choices else "45s"

    @property
    def given(self):
        """The condition under which it differs from its default."""
        if self.type == "flag":
            return f"(not {self.value})" if self.default else self.value
        if self.type == "int":
            return f"(ne (int64 {self.value}) {self.default})"
        return f"(ne {self.value} {json.dumps(self.default)})" if self.default else self.value

    @property
    def printed(self):
        """The value as an argument has it."""
        return {"list": f'(join "," {self.value})', "int": f"(toString (int64 {self.value}))",
                "flag": f"(toString {self.value})"}.get(self.type, self.value)

    def words(self, value=None):
        value = self.example if value is None else value
        text = (",".join(value) if self.type == "list" else
                str(value).lower() if self.type == "flag" else str(value))
        return [f"--{self.flag}={text}"]


# ---- answers -------------------------------------------------------------------------------------

NAMESPACE, IMAGE = "example-release", "example-image:1"
DEFAULT = "(not $.Values.controllers)"
NAMESPACED = "$.Values.namespaced"


def runs(controller):
    return f'(has "{controller}" $controllers)'


def joined(word, texts):
    return texts[0] if len(texts) == 1 else f"({word} {' '.join(texts)})"


def add_term(terms, literals):
    """Terms that differ in one literal become one."""
    for other in terms:
        apart = [at for at, literal in enumerate(literals)
                 if len(other) != len(literals) or other[at] != literal]
        if len(apart) == 1 and len(other) == len(literals):
            other[apart[0]] += literals[apart[0]]
            return
    terms.append(literals)


class Program:
    """`signpost manifests` with files that its options name."""

    def __init__(self, folder):
        self.folder = folder
        (folder / EXAMPLES["pihole-targets"]).write_text(TARGETS)
        (folder / EXAMPLES["pihole-tls-ca-file"]).write_text("")
        (folder / "plain.yaml").write_text(EXAMPLES["zones-config"])
        (folder / "keys.yaml").write_text(WITH_KEYS + EXAMPLES["zones-config"])

    def ask(self, *words):
        """The text, or None when the options do not go together."""
        result = subprocess.run([SIGNPOST, "manifests", *words], cwd=self.folder, text=True,
                                capture_output=True, check=False, env={})
        return result.stdout if result.returncode == 0 else None


def key_of(text):
    found = [re.search(rf"^{name}: (\S+)$", text, re.M) for name in ("kind", "  name", "  namespace")]
    return tuple(each[1] if each else "" for each in found)


def documents(text):
    """Their texts by kind, name and namespace."""
    texts = (f"{each}\n" for each in text.removeprefix("---\n").split("\n---\n"))
    return {key_of(each): each for each in texts if "\nkind: Namespace\n" not in each}


# ---- what depends on what ------------------------------------------------------------------------

class Answers:
    """Answers of the program, each a bit of the masks. `masks` has what may be asked of the values:
    its text, and the answers for which it holds. `features` has what documents may say."""

    def __init__(self, program, options, controllers):
        self.program = program
        self.options = options
        self.controllers = controllers
        self.all = []
        self.masks = {}
        self.bits = {}
        self.known = {}
        self.always = []
        self.features = {}
        self.find_features()
        self.find_company()
        self.collect()

    def base(self, controllers, words=()):
        named = [f"--controllers={','.join(controllers)}"] if controllers else []
        always = [word for word in self.always
                  if "intent" in controllers or not word.startswith("--intent-")]
        return self.program.ask(
            *(f"--{section}" for section in sorted(SECTIONS)), "--namespace", NAMESPACE, "--image",
            IMAGE, *named, *always, *words)

    def find_features(self):
        """Options that change more than their own argument or variable."""
        for flag in ALWAYS:
            self.always += self.options[flag].words()
        plain = [self.without_own(None, rich) for rich in ([], RICH)]
        found, harmless = [], []
        for option in self.options.values():
            if option.flag in ("controllers", *SCOPE, *ALWAYS, *FILES):
                continue
            for choice in list(option.choices) or [option.example]:
                words = option.words(choice)
                answers = [self.without_own(option, rich + words) for rich in ([], RICH)]
                if not answers[0] and not option.choices:
                    raise RuntimeError(f"--{option.flag}={choice} is refused: EXAMPLES needs one")
                if not answers[0]:
                    option.choices.remove(choice)  # no installation can have it
                elif choice != option.default and answers != plain:
                    found.append((option, choice, words))
                elif choice == option.example:
                    harmless += words
        found += [(option, choice, option.words(choice))
                  for option in {option.flag: option for option, _, _ in found}.values()
                  for choice in option.choices if choice != option.default]
        structural = tuple(f"--{option.flag}=" for option, _, _ in found)
        self.always += [word for word in harmless if not word.startswith(structural)]
        for option, choice, words in found:
            literal = f"(eq {option.value} {json.dumps(choice)})" if option.choices else option.given
            self.features[literal] = words
        self.add_others()

    def without_own(self, option, words):
        """The answer for all controllers, but for what says the option itself."""
        text = self.base(self.controllers, words) or ""
        own = [f"--{option.flag}=", *option.variables] if option else []
        lines = text.splitlines()
        drop = set()
        for at, line in enumerate(lines):
            bare = line.strip().removeprefix("- ").strip('"')
            if any(bare.startswith(name) for name in own[:1]):
                drop.add(at)
            if any(bare == f"name: {name}" for name in own[1:]):
                drop |= {at, at + 1}
        return [line for at, line in enumerate(lines) if at not in drop and line[:1] != "#"]

    def add_others(self):
        """Features of another form than one option that is given."""
        option = self.options
        watched = option["namespaces"].words() + option["secret-namespaces"].words()
        self.features |= {
            "$namespaces": option["namespaces"].words(),
            "$secretNamespaces": option["secret-namespaces"].words(),
            NAMESPACED: ["--namespaced", *watched],
            "(lt (int64 $.Values.replicas) 2)": ["--replicas=1"],
            option["zones-config"].given: ["--zones-config=plain.yaml"],
            f"(fromYaml {option['zones-config'].value}).keys": ["--zones-config=keys.yaml"],
            option["pihole-targets"].given: option["pihole-targets"].words(),
            option["pihole-tls-ca-file"].given: option["pihole-tls-ca-file"].words(),
        }
        self.implied = {f"(fromYaml {option['zones-config'].value}).keys":
                        {option["zones-config"].given},
                        NAMESPACED: {"$namespaces", "$secretNamespaces"}}

    def find_company(self):
        """Controllers that run by default, and those that run beside others with an option."""
        def rights(controllers, words=()):
            named = [f"--controllers={','.join(controllers)}"] if controllers else []
            return self.program.ask("--rbac", *named, *self.options[NEEDED].words(), *words)

        subsets = itertools.chain.from_iterable(
            itertools.combinations(self.controllers, count + 1)
            for count in range(len(self.controllers)))
        self.default = next(names for names in subsets if rights(names) == rights([]))
        self.joins = {}
        one = self.default[0]
        together = {rights([one, name]): name for name in self.controllers if name != one}
        for feature, words in self.features.items():
            answer = rights([one], words)
            if answer != rights([one]) and answer in together:
                self.joins[feature] = together[answer]

    def add(self, controllers, features):
        """One question and its answer. What an option says of a controller that does not run is
        refused by the program, and of no consequence in the chart."""
        words = [word for feature in features for word in self.features[feature]]
        scope = self.features[NAMESPACED] if NAMESPACED in features else []
        text = self.base(controllers, words) or self.base(controllers, scope)
        bit = 1 << len(self.all)
        self.all.append(documents(text))
        self.bits[tuple(controllers), frozenset(features)] = bit
        running = {*(controllers or self.default),
                   *(self.joins[feature] for feature in features if feature in self.joins)}
        holds = {*features, *map(runs, running),
                 *(each for feature in features for each in self.implied.get(feature, ()))}
        for literal in holds | ({DEFAULT} if not controllers else set()):
            self.masks[literal] = self.masks.get(literal, 0) | bit

    def collect(self):
        self.alone = [(), *((name,) for name in self.controllers)]
        for controllers in [*self.alone, self.controllers]:
            self.add(controllers, [])
            for feature in self.features:
                self.add(controllers, [feature])
                if feature != NAMESPACED and controllers != self.controllers:
                    self.add(controllers, [NAMESPACED, feature])
        for pair in itertools.combinations(self.controllers, 2):
            self.add(pair, [])
        for pair in itertools.combinations(self.features, 2):
            if len({self.features[feature][0].partition("=")[0] for feature in pair}) == 2:
                self.add(self.controllers, pair)
                if NAMESPACED not in pair:
                    self.add(self.controllers, [NAMESPACED, *pair])
        self.whole = (1 << len(self.all)) - 1

    def condition(self, wanted, among):
        """What holds in the answers `wanted` and in no other of `among`; empty: always."""
        if wanted == among:
            return ""
        if (wanted, among) not in self.known:
            self.known[wanted, among] = self.find_condition(wanted, among)
        return self.known[wanted, among]

    def find_condition(self, wanted, among):
        text = self.disjunction(wanted, among)
        if not text:
            text = self.disjunction(among & ~wanted, among)
            if not text:
                raise RuntimeError("no condition tells these answers apart")
            text = f"(not {text})"
        return text.replace("(not (not $.Values.admission))", "$.Values.admission")

    def disjunction(self, wanted, among):
        terms, known = [], 0
        for _, literals in sorted(self.terms(wanted, among),
                                  key=lambda term: (term[0], len(term[1]))):
            literals = self.shorten(literals, among & ~wanted)
            mask = self.all_of(literals) & among
            if mask & ~known and not mask & ~wanted:
                known |= mask
                add_term(terms, literals)
        return joined("or", [joined("and", [joined("or", literal) for literal in literals])
                             for literals in terms]) if known == wanted else ""

    def terms(self, wanted, among):
        """(how far-fetched, literals all of which hold); of a literal's texts one holds."""
        every = tuple(self.controllers)

        def state(names, *features):
            bit = self.bits.get((names, frozenset(features)), 0)
            return bool(bit & wanted) if bit & among else None

        def state_in(names, *features):
            """The same where what is around it comes with namespaced alone."""
            is_inside = state(names) is None and state(names, NAMESPACED) is not None
            return state(names, *((NAMESPACED,) if is_inside else ()), *features)

        found = {}
        for names in [*self.alone, every]:
            far = 2 if not names else 1 if names == every else 0
            if state_in(names):
                denied = [feature for feature in self.features
                          if state_in(names, feature) is False]
                found.setdefault((far, (), tuple(denied)), []).append(names)
                continue
            for feature in self.features:
                if state_in(names, feature):
                    denied = [other for other in self.features if other != feature
                              and state_in(every, feature, other) is False]
                    found.setdefault((far, (feature,), tuple(denied)), []).append(names)
            if state_in(names) is None:  # only beside others
                found[3, names, ()] = [names]
        if state(every) is None:  # there is nothing of it yet: what decides comes with another
            for one, two in itertools.permutations(self.features, 2):
                if state(every, one) is False and state(every, one, two):
                    found[1, (two,), ()] = [every]
        for (far, needed, denied), groups in found.items():
            named = tuple(runs(*names) if names else DEFAULT
                          for names in groups if names != every)
            yield far, [*([named] if named else []),
                        *((feature,) for feature in needed if far < 3),
                        *((f"(not {feature})",) for feature in denied)]
        yield from ((4, [(f"(not {runs(name)})",)]) for name in self.controllers)

    def mask(self, literal):
        if literal in self.masks or literal == DEFAULT:
            return self.masks.get(literal, 0)
        return self.whole & ~self.masks[literal.removeprefix("(not ")[:-1]]

    def all_of(self, literals):
        mask = self.whole
        for literal in literals:
            one = 0
            for text in literal:
                one |= self.mask(text)
            mask &= one
        return mask

    def shorten(self, literals, others):
        """Without those that keep none of the other answers out."""
        for literal in list(literals):
            rest = [each for each in literals if each is not literal]
            if not self.all_of(rest) & others:
                literals = rest
        return literals
