"""Where the linter differs from CoreDNS, and why.

A Corefile that CoreDNS refuses and the linter accepts is `missed`, one that only the linter refuses
is `strict`; `worded` are those that both refuse without one message in common.
"""

import dataclasses
import re
import subprocess

from grammar import UNLINKED
from harness import SIGNPOST

OLD = "v1.10.1"


@dataclasses.dataclass(eq=False)
class Difference:
    """`words` begin what CoreDNS says, of `strict` ones what the linter says."""

    kinds: tuple
    words: str
    why: str
    release: str = ""  # the only one that it is about
    said: str = ""  # begins one of the linter's errors

    def covers(self, release, kind, text, errors):
        return (kind in self.kinds and self.release in ("", release) and
                re.match(self.words, text, re.DOTALL) is not None and
                (not self.said or any(re.match(self.said, error.text) for error in errors)))


def unseen(words, why, **more):
    """CoreDNS ends at something that the linter does not look at, which may find other faults."""
    return Difference(("missed", "worded"), words, why, **more)


def strict(words, why, **more):
    return Difference(("strict",), words, why, **more)


def worded(words, why, **more):
    return Difference(("worded",), words, why, **more)


def checked_plugins():
    """Those whose options are judged, as the help says."""
    text = " ".join(subprocess.run([SIGNPOST, "corefile", "check", "--help"], capture_output=True,
                                   text=True,
                                   check=True).stdout.split())
    names = re.search(r"checked to their last option: (.*?)\. Of others", text)[1]
    return re.split(r", | and ", names)


DELIBERATE = [
    unseen(rf"no action found for directive '({'|'.join(UNLINKED)})'",
           "the program of these tests is built without the libraries of clouds"),
    unseen(rf"plugin/(?!({'|'.join(checked_plugins())}):)\w+: ",
           "of these plugins only the structure of their blocks is judged, as the help says"),
    unseen("Wrong event name",
           "the plugin `on` is one of them, and does not put its name in front"),
    unseen(r".*no such file or directory", "files that plugins name are not looked at"),
    unseen(r'plugin/forward: not an IP address.* "\.?/',
           "files that plugins name are not looked at"),
    unseen("plugin/forward: no (nameservers|valid upstream addresses) found",
           "what stands in a resolv.conf is not looked at"),
    unseen("plugin/forward: failed to resolve",
           "names are not asked for; a warning says that CoreDNS does"),
    unseen("plugin/bind: not a valid IP address or interface name",
           "which interfaces there are is known where CoreDNS runs"),
    unseen(r"plugin/kubernetes: (unable to load in-cluster configuration|context .* does not exist|"
           r"failed to create kubernetes notification controller)",
           "where the API server is, and how it knows CoreDNS, is known where CoreDNS runs"),
    unseen(r"plugin/kubernetes: unable to parse (namespace_)?label selector value",
           "selectors have a grammar of Kubernetes"),
    unseen("plugin/template: could not compile template", "templates have a grammar of Go"),
    strict("maximum snippet import depth",
           "CoreDNS 1.10.1 has no limit: it hangs as soon as such a snippet is used", release=OLD),
    worded("", "CoreDNS 1.10.1 hangs on the same snippet, or goes on behind it", release=OLD,
           said="maximum snippet import depth"),
    strict(r".*(zone is not a valid domain name: .*\\|unable to normalize '.*\\|"
           r"non-reverse zone name must be used)",
           "the DNS library of CoreDNS 1.10.1 takes a backslash at the end of a name", release=OLD),
    strict("plugin/k8s_external: kubernetes plugin not loaded",
           "CoreDNS says so once its servers start, which those that check do not"),
]


def kind_of(result, errors):
    """The kind of a difference, or None."""
    if result is None:
        return "strict" if errors else None
    if not errors:
        return "missed"
    return None if any(result.is_like(error) for error in errors) else "worded"


def text_of(result, errors):
    return result.text if result else errors[0].text


def cause_of(release, result, errors):
    """The row that covers a difference, or None."""
    kind = kind_of(result, errors)
    rows = (row for row in DELIBERATE if row.covers(release, kind, text_of(result, errors), errors))
    return next(rows, None)
