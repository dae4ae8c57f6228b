#!/usr/bin/python3
"""systemctl for a machine without systemd (machine.py): starts and stops services as their units
say, each as its user, without privileges, on a system of which it can write its own folder alone.

systemctl.py [enable --now|start|stop] UNIT...

A service is traced into /run/UNIT.trace and logs to /run/UNIT.log; its exit code is in
/run/UNIT.ended.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

START = """
state=$1; shift
mount --bind "$state" "$state"
mount -t tmpfs tmpfs /tmp
mount -o remount,bind,ro /
"$@" & echo $! >"$pid_file"
wait $! && code=0 || code=$?
echo $code >"$pid_file.new"; mv "$pid_file.new" "$ended"
"""
FOLDER = pathlib.Path("/lib/systemd/system")


class Unit:
    """The settings of a unit: the last one of each name, and all of them in order."""

    def __init__(self, name, folder=FOLDER):
        self.name = name.removesuffix(".service")
        self.path = folder / f"{self.name}.service"
        lines = self.path.read_text().splitlines()
        self.rows = [tuple(line.split("=", 1)) for line in lines if "=" in line and line[0] != "#"]
        self.settings = dict(self.rows)

    def all(self, name):
        return [value for key, value in self.rows if key == name]

    def conditions(self):
        return [f"{key}={value}" for key, value in self.rows if key.startswith("Condition")]

    def environment(self):
        found = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        for value in self.all("Environment"):
            found |= dict(word.split("=", 1) for word in shlex.split(value))
        for value in self.all("EnvironmentFile"):
            assert value.startswith("-/"), "one that may be missing"
            lines = pathlib.Path(value[1:]).read_text().splitlines()
            found |= dict(line.split("=", 1) for line in lines if line and line[0] not in "#;")
        return found

    def file(self, kind):
        return pathlib.Path(f"/run/{self.name}.{kind}")

    def start(self):
        for condition in self.conditions():
            if subprocess.run(["systemd-analyze", "condition", condition], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                print(f"{self.name} was not started: {condition} was not met", flush=True)
                return
        user = self.settings["User"]
        state = pathlib.Path("/var/lib") / self.settings["StateDirectory"]
        state.mkdir(exist_ok=True)
        shutil.chown(state, user, user)
        state.chmod(int(self.settings["StateDirectoryMode"], 8))
        self.file("ended").unlink(missing_ok=True)
        with open(self.file("log"), "ab") as log:
            subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-e", "-c", START, "sh",
                 state, "strace", "-D", "-f", "-qq", "-o", self.file("trace"),
                 "setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
                 f"--reuid={user}", f"--regid={user}", "--init-groups",
                 *shlex.split(self.settings["ExecStart"])],
                env={**self.environment(), "pid_file": str(self.file("pid")),
                     "ended": str(self.file("ended"))},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                umask=int(self.settings["UMask"], 8))

    def stop(self):
        os.kill(int(self.file("pid").read_text()), 15)
        while not self.file("ended").exists():
            time.sleep(0.02)


def main():
    names = [word for word in sys.argv[2:] if word != "--now"]
    assert sys.argv[1] in ("enable", "start", "stop"), sys.argv
    for name in names:
        (Unit.stop if sys.argv[1] == "stop" else Unit.start)(Unit(name))


if __name__ == "__main__":
    main()
