"""Documents lead to places that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")])
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)", re.S)
TABLES = sorted([*(ROOT / "src").rglob("reasons.def"), *(ROOT / "src").rglob("events.def")])
ROW = re.compile(r'^(?:REASON|EVENT)\(\w+, "([A-Z][A-Za-z0-9]*)"', re.M)
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchors_of(page):
    """As GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(text)}


def dangling(page):
    for link in LINK.findall(CODE.sub("code", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or anchor and anchor not in anchors_of(target):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert list(dangling(page)) == []


def test_a_link_to_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One thing\n[a](page.md#one-thing) [b](gone.md) [c](#other) [d](https://x.example/) "
                    "`[e](pattern)` [`f`](lost.md)")
    assert list(dangling(page)) == ["gone.md", "#other", "lost.md"]


def test_the_index_of_the_guide_lists_every_page():
    listed = {link.partition("#")[0] for link in LINK.findall((GUIDE / "README.md").read_text())}
    pages = {page.name for page in GUIDE.glob("*.md")} - {"README.md"}
    assert pages - listed == set()
    assert "docs/guide/README.md" in LINK.findall((ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", sorted(GUIDE.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_the_guide_with_commands_is_done_by_a_test(page):
    """By one that names it; tests/whole/guide.py says what is run of a page."""
    if re.search(r"^```(sh|yaml|conf)$", page.read_text(), re.M):
        assert any(f'"{page.name}"' in test.read_text()
                   for test in (ROOT / "tests").rglob("*.py")), page.name


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.relative_to(ROOT)))
def test_rows_of_a_table_have_names_of_their_own_that_objects_may_bear(table):
    """Reasons of Events and conditions, as an API server takes them."""
    names = ROW.findall(table.read_text())
    assert names and len(set(names)) == len(names)
    assert all(len(name) <= 128 for name in names)


def test_no_reason_of_conditions_stands_in_two_tables():
    names = [name for table in TABLES if table.name == "reasons.def"
             for name in ROW.findall(table.read_text())]
    assert sorted(set(names)) == sorted(names)


def test_the_troubleshooting_page_has_each_reason_once_and_no_other():
    reasons = [name for table in TABLES if table.name == "reasons.def"
               for name in ROW.findall(table.read_text())]
    page = (ROOT / "docs" / "guide" / "troubleshooting.md").read_text()
    assert sorted(re.findall(r"^\| `([A-Z][A-Za-z0-9]+)` \|", page, re.M)) == sorted(reasons)


def test_every_metric_of_the_program_has_its_row():
    """The other way round a test of the command line holds the page against what processes show."""
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    named = set()
    for path in (ROOT / "src").rglob("*.c"):
        if not path.name.startswith("test_"):
            named |= set(re.findall(r'"((?:signpost|workqueue|leader_election|controller_runtime|'
                                    r'rest_client|process)_[a-z_]*[a-z])"', path.read_text()))
    assert len(named) > 70
    assert not named - rows
