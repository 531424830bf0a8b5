"""Checks a built site: every internal link must lead to an existing page, and to an existing anchor on it.

usage: site.py FOLDER. Exits with 1 and lists the broken links, if any.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and its links and images."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.update(filter(None, [attributes.get("id"), attributes.get("name") if tag == "a" else None]))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        self.links += [one.split()[0] for one in attributes.get("srcset", "").split(",") if one.strip()]


def main():
    site = Path(sys.argv[1]).resolve()
    # mdBook also makes an error page, whose links are relative to any depth, and a table of contents for readers without scripts.
    others = {site / "404.html", site / "toc.html"}
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path not in others}
    broken, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_relative_to(site) or not (target in others or target.exists()):
                broken.append(f"{path.relative_to(site)}: {link}: no such page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                broken.append(f"{path.relative_to(site)}: {link}: no such place on the page")
    if not (site / "searcher.js").exists() and not list(site.glob("searcher*.js")):
        broken.append("the site has no search")
    print("\n".join(broken) or f"site: {len(pages)} pages, {count} links within it, none broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
