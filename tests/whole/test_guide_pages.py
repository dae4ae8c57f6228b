"""Pages of docs/guide on a folder, done as they say: ten minutes, backup and restore, safety, security,
explaining, external-dns, DNS update records, and what people come from."""

import shutil

import pytest

import guide
import harness
from piholes import Pihole

GUIDE = harness.ROOT / "docs" / "guide"
KNOTD = shutil.which("knotd") or "/usr/sbin/knotd"
PORTS = (5301, 7100, 7101, 8080, 8081, 8082, 8083, 9015)


@pytest.fixture
def page_at(tmp_path):
    """page_at(name): that page, in an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    shell = guide.Shell(folder, {"signpost": harness.SIGNPOST, "knotd": KNOTD})
    yield lambda name: guide.Guide(GUIDE / name, shell, PORTS)
    shell.end()


def test_ten_minutes_are_as_written(page_at):
    """The part that needs a cluster is done in tests/cluster/test_guide.py."""
    page_at("start.md").follow(until="## The same objects in a cluster")


def test_backup_and_restore_work_as_written(page_at):
    page_at("backup.md").follow()


def test_a_folder_is_upgraded_as_written(page_at):
    """The package is in test_package.py, a cluster in tests/cluster/test_guide.py."""
    page_at("upgrade.md").follow(until="## The Debian package")


def test_what_is_overwritten_kept_and_held_back_is_as_written(page_at, programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    pihole.people("192.0.2.9 nas.home.lan")
    page = page_at("safety.md")
    page.name_ports({8090: pihole.port, 5353: pihole.dns_port})
    (page.shell.folder / "pihole.password").write_text(pihole.password + "\n")
    page.follow()
    pihole.check()


def test_a_secret_is_where_the_page_says_and_nowhere_else(page_at):
    page_at("security-model.md").follow()


def test_the_status_page_is_there_as_written(page_at):
    page_at("status-page.md").follow()


def test_a_name_is_explained_as_written(page_at):
    page_at("explaining.md").follow()


def test_a_record_becomes_an_external_dns_as_written(page_at):
    page_at("external-dns.md").follow()


def test_names_pass_from_external_dns_and_back_as_written(page_at):
    page_at("coming-from-external-dns.md").follow()


def test_a_dns_object_of_openshift_is_compared_as_written(page_at):
    page_at("coming-from-openshift.md").follow()


def test_an_app_has_its_name_by_the_api_as_written(page_at):
    page_at("dns-update-records.md").follow()


def test_a_change_is_tried_as_written(tmp_path):
    clone = tmp_path / "clone"
    clone.mkdir()
    for path in harness.ROOT.iterdir():
        if not path.name.startswith("."):
            (clone / path.name).symlink_to(path)
    shell = guide.Shell(clone, {})
    try:
        guide.Guide(GUIDE / "internals.md", shell, PORTS).follow()
    finally:
        shell.end()


def test_a_bug_report_is_recorded_and_replayed_as_written(page_at):
    page_at("bug-reports.md").follow()
