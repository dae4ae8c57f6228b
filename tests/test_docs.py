"""Documents lead to places that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")])
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)", re.S)
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchors_of(page):
    """As GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(text)}


def dangling(page):
    for link in LINK.findall(page.read_text()):
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
    page.write_text("# One thing\n[a](page.md#one-thing) [b](gone.md) [c](#other) [d](https://x.example/)")
    assert list(dangling(page)) == ["gone.md", "#other"]


def test_the_readme_names_every_page_of_the_guide():
    text = (ROOT / "README.md").read_text()
    pages = {page.name for page in (ROOT / "docs" / "guide").glob("*.md")}
    assert {page for page in pages if f"docs/guide/{page}" not in text} == set()
