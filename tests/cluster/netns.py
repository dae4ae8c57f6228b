"""A network and a /etc/resolv.conf of its own: ports that others have, too, and loopback alone."""

import subprocess


class Netns:
    """Programs within it are started with `within`; it ends with `end`."""

    def __init__(self, folder, resolver="127.0.0.53"):
        (folder / "resolv.conf").write_text(f"nameserver {resolver}\n")
        script = (f"ip link set lo up && mount --bind {folder}/resolv.conf /etc/resolv.conf && "
                  "echo up && exec sleep infinity")
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script],
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "up\n"
        self.within = ["nsenter", "-t", str(self.holder.pid), "--net", "--mount", "--"]

    def dig(self, server, port, *words):
        """What `dig +short` prints; "" when nobody answers."""
        done = subprocess.run([*self.within, "dig", f"@{server}", "-p", str(port), "+short",
                               "+time=1", "+tries=2", *words], capture_output=True, text=True,
                              check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
