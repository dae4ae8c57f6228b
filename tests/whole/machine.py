"""A machine to install on: an overlay over the root of this one, with processes of its own. What is
changed there lies in memory and goes with it, as do the processes."""

import os
import subprocess

import harness

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
START = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs tmpfs "$1/root/run"
shift
for folder; do
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
done
echo up
exec sleep infinity
"""


class Machine:
    """`folders` are there under the same names, as is this repository. A command is run in it
    behind the words `within`."""

    def __init__(self, folder, *folders):
        mount = folder / "machine"
        mount.mkdir()
        self.holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork",
             "--kill-child", "--propagation", "private", "sh", "-c", START, "sh", mount,
             *map(str, (harness.ROOT, *folders))], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "root": str(mount / "root")})
        assert self.holder.stdout.readline() == "up\n"
        self.upper = mount / "upper"
        namespaces = f"/proc/{self.holder.pid}/ns"
        self.within = ["nsenter", f"--mount={namespaces}/mnt",
                       f"--pid={namespaces}/pid_for_children", "--", "chroot", str(mount / "root")]

    def call(self, *words):
        """(exit code, all that it printed)"""
        result = subprocess.run([*self.within, *map(str, words)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=harness.HANG_S, check=False, errors="replace",
                                env={"PATH": PATH, "LC_ALL": "C.UTF-8"})
        return result.returncode, result.stdout

    def run(self, *words):
        """What a command prints that must succeed."""
        code, text = self.call(*words)
        assert code == 0, f"{words}: {text}"
        return text

    def changed(self):
        """Files that were changed, made or removed."""
        found = subprocess.run([*self.within[:2], "find", self.upper, "!", "-type", "d"],
                               capture_output=True, text=True, check=True).stdout
        return {path.removeprefix(str(self.upper)) for path in found.splitlines()}

    def systemctl(self, *words):
        return self.run(harness.ROOT / "tests" / "whole" / "systemctl.py", *words)

    def end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
