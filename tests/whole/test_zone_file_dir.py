"""`signpost run --zone-file-dir`: zones as files that come and go with them, and with nothing else."""

import os
import time

import pytest

from harness import SIGNPOST, holds, wait_until

MARK = "; written by signpost: {}\n"


def zone(name, domain):
    return (f"apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {{name: {name}}}\n"
            f"spec: {{domainName: {domain}, delegations: [], "
            "nameservers: [{name: ns1, addresses: [192.0.2.1]}]}\n")


class Folder:
    def __init__(self, programs, path):
        self.programs = programs
        self.manifests = path / "m"
        self.files = path / "zones"
        self.manifests.mkdir()
        self.files.mkdir()
        self.write("shop", "shop.example.")
        self.write("blog", "blog.example.")

    def write(self, name, domain):
        (self.manifests / f"{name}.yaml").write_text(zone(name, domain))

    def delete(self, name):
        (self.manifests / f"{name}.yaml").unlink()

    def start(self):
        self.program = self.programs.start("run", [
            SIGNPOST, "run", "--dir", self.manifests, "--zone-file-dir", self.files,
            "--health-probe-bind-address", "0", "--metrics-bind-address", "0",
            "--log-format", "json"])
        return self

    def names(self):
        return sorted(path.name for path in self.files.iterdir())

    def wait(self, *names):
        wait_until(lambda: self.names() == sorted(names),
                   lambda: f"{sorted(names)}: {self.names()}", programs=[self.program])


@pytest.fixture
def folder(programs, tmp_path):
    return Folder(programs, tmp_path)


def test_a_file_goes_with_its_zone(folder):
    folder.start().wait("blog.example.zone", "shop.example.zone")
    assert (folder.files / "shop.example.zone").read_text().startswith(MARK.format("shop.example."))
    folder.delete("shop")
    folder.wait("blog.example.zone")
    folder.write("blog", "news.example.")
    folder.wait("news.example.zone")
    wait_until(lambda: [line["file"].rsplit("/")[-1]
                        for line in folder.program.lines("zone file is removed")]
               == ["shop.example.zone", "blog.example.zone"], "both are told as removed",
               programs=[folder.program])


def test_files_of_zones_that_went_while_nobody_ran_go_at_the_start(folder):
    folder.start().wait("blog.example.zone", "shop.example.zone")
    assert folder.program.stop() == 0
    assert folder.names() == ["blog.example.zone", "shop.example.zone"]
    folder.delete("shop")
    folder.start().wait("blog.example.zone")


def test_files_of_strangers_stay(folder):
    strangers = {"other.example.zone": "$ORIGIN other.example.\n",
                 "copy.example.zone": MARK.format("gone.example."),
                 "notes.txt": MARK.format("notes.txt."),
                 "cut.example.zone": MARK.format("cut.example.")[:-2],
                 ".other.example.zone.a1b2c3.tmp": "$ORIGIN other.example.\n"}
    for name, text in strangers.items():
        (folder.files / name).write_text(text)
    os.utime(folder.files / ".other.example.zone.a1b2c3.tmp", (0, 0))
    target = folder.files.parent / "linked"
    target.write_text(MARK.format("linked.example."))
    (folder.files / "linked.example.zone").symlink_to(target)
    (folder.files / "gone.example.zone").write_text(MARK.format("gone.example."))
    folder.start().wait("blog.example.zone", "shop.example.zone", "linked.example.zone", *strangers)
    assert {name: (folder.files / name).read_text() for name in strangers} == strangers


def test_what_a_crash_left_goes_once_it_is_old(folder):
    for name, text in ((".shop.example.zone.a1b2c3.tmp", MARK.format("shop.example.")),
                       (".shop.example.zone.d4e5f6.tmp", ""),
                       (".gone.example.zone.a1b2c3.tmp", MARK.format("gone.example.")[:9])):
        (folder.files / name).write_text(text)
        os.utime(folder.files / name, (time.time() - 120,) * 2)
    young = folder.files / ".shop.example.zone.g7h8i9.tmp"
    young.write_text("")
    folder.start().wait("blog.example.zone", "shop.example.zone", young.name)


def test_a_zone_whose_content_is_not_numbered_yet_keeps_its_file(folder):
    folder.start().wait("blog.example.zone", "shop.example.zone")
    assert folder.program.stop() == 0
    before = (folder.files / "shop.example.zone").stat().st_ino
    (folder.manifests / "shop.yaml").write_text(zone("shop", "shop.example.").replace(
        "192.0.2.1", "192.0.2.2"))
    folder.delete("blog")
    folder.start()
    path = folder.files / "shop.example.zone"
    assert holds(path.exists, 0.5)
    folder.wait("shop.example.zone")
    wait_until(lambda: path.stat().st_ino != before, "it is written anew")
    assert "192.0.2.2" in path.read_text()


def test_a_file_that_cannot_be_written_keeps_no_other_from_going(folder):
    folder.start().wait("blog.example.zone", "shop.example.zone")
    # Three octets for each slash, and no file has so long a name.
    folder.write("long", ".".join(["0" + "/0" * 30] * 3 + ["example."]))
    wait_until(lambda: folder.program.lines("zone file cannot be written"), "it is told",
               programs=[folder.program])
    folder.delete("shop")
    folder.wait("blog.example.zone")
