"""The page of docs/guide on Pi-hole, done as it says."""

import guide
import harness
from piholes import Pihole

PAGE = harness.ROOT / "docs" / "guide" / "pihole.md"


def test_the_page_works_as_written(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "pihole.password").write_text(pihole.password + "\n")
    shell = guide.Shell(folder, {"signpost": harness.SIGNPOST})
    page = guide.Guide(PAGE, shell, (8081, 8090, 5353))
    page.ports |= {"8090": str(pihole.port), "5353": str(pihole.dns_port)}
    try:
        page.follow()
    finally:
        shell.end()
    pihole.check()


def test_the_file_of_several_piholes_is_one(tmp_path):
    text = guide.read_files(PAGE)["piholes.yaml"]
    (tmp_path / "piholes.yaml").write_text(text)
    (tmp_path / "manifests").mkdir()
    code, _, err = harness.run("check", cwd=tmp_path, PIHOLE_TARGETS="piholes.yaml",
                               DEFAULT_TARGET_IP="192.168.1.50")
    assert (code, err) == (0, "")
