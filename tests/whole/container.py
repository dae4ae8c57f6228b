"""The image that `make image` makes, read as an OCI image layout, and run as a container runtime
would: its root read-only, as its user, without privileges, with the volumes that are named."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import stat
import subprocess
import tarfile

import harness

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
START = """
set -e
root=$1 user=$2; shift 2
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
    mount --bind "$2" "$root$3"
    mount -o "remount,bind,$1" "$root$3"
    shift 3
done
shift
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""


class Layout:
    """An image layout with one image; each blob is what its digest and size say."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        index = json.loads((self.folder / "index.json").read_text())
        [self.entry] = index["manifests"]
        self.read_digests = set()
        self.manifest = json.loads(self.blob(self.entry, MANIFEST))
        self.config = json.loads(self.blob(self.manifest["config"], CONFIG))
        self.layers = [gzip.decompress(self.blob(row, LAYER)) for row in self.manifest["layers"]]

    @property
    def tag(self):
        return self.entry["annotations"]["org.opencontainers.image.ref.name"]

    def blob(self, descriptor, media_type):
        assert descriptor["mediaType"] == media_type
        digest = descriptor["digest"]
        kind, value = digest.split(":")
        octets = (self.folder / "blobs" / kind / value).read_bytes()
        assert kind == "sha256" and hashlib.sha256(octets).hexdigest() == value
        assert len(octets) == descriptor["size"]
        self.read_digests.add(digest)
        return octets

    def files(self):
        """{absolute path: size} of what is no folder."""
        return {f"/{member.name}": member.size for member in self.members() if not member.isdir()}

    def members(self):
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                yield from archive

    def unpack(self, root):
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                archive.extractall(root, numeric_owner=True)


class Container:
    """A root that an image was unpacked to. `volumes` is {path inside: (folder, "ro" or "rw")}."""

    def __init__(self, layout, root, volumes):
        self.config = layout.config["config"]
        self.root = pathlib.Path(root)
        self.volumes = volumes
        for inside in ("/proc", *volumes):
            (self.root / inside[1:]).mkdir(parents=True)

    def command(self, *words, **environment):
        """What starts it; the process that is started becomes the program."""
        rows = [word for inside, (folder, mode) in self.volumes.items()
                for word in (mode, str(folder), inside)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", START, "sh",
                str(self.root), self.config["User"], *rows, "--",
                *(f"{name}={value}" for name, value in environment.items()),
                "setpriv", "--no-new-privs", "chroot", "--groups=",
                f"--userspec={self.config['User']}", str(self.root), *self.config["Entrypoint"],
                *map(str, words or self.config["Cmd"])]

    def run(self, *words, **environment):
        """(exit code, all that it printed)"""
        result = subprocess.run(self.command(*words, **environment), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=harness.HANG_S, check=False)
        return result.returncode, result.stdout


def give(folder, user, mode=0o700):
    """A folder that belongs to that user ("65532:65532")."""
    folder.mkdir(exist_ok=True)
    os.chown(folder, *map(int, user.split(":")))
    folder.chmod(mode)
    return folder


def is_elf(path):
    with open(path, "rb") as file:
        return stat.S_ISREG(os.stat(path).st_mode) and file.read(4) == b"\x7fELF"
