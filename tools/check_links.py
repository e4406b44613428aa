"""Checks a built site: every link to a file or to a heading leads somewhere. Links to other hosts are not followed.

    python tools/check_links.py target/book
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(site):
    """Pairs of a page and a link that leads nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name in ("print.html", "404.html"):  # all pages in one, with the links of their own folders
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield path, link
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield path, link


def main():
    site = Path(sys.argv[1]).resolve()
    dead = list(dead_links(site))
    for path, link in dead:
        print(f"error: {path.relative_to(site)}: the link {link} leads nowhere", file=sys.stderr)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(dead)} dead links")
    raise SystemExit(1 if dead else 0)


if __name__ == "__main__":
    main()
