"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(rows: Iterable[Sequence[object]], heads: Sequence[str] = (), caption: str = "") -> str:
    """A table; all text is escaped, and line breaks of the text are kept.

    >>> table([("a", "1 < 2")])
    '<table><tbody><tr><th>a</th><td style="text-align:left;white-space:pre-wrap">1 &lt; 2</td></tr></tbody></table>'
    """
    # Without heads the rows are facts; with heads the columns are numbers, which are read from the right.
    facts = not heads

    def cell(text: object, kind: str) -> str:
        style = ' style="text-align:left;white-space:pre-wrap"' if kind == "td" and (facts or len(str(text)) > 24) else ""
        return f"<{kind}{style}>{escape(str(text))}</{kind}>"

    head = f"<thead><tr>{''.join(cell(name, 'th') for name in heads)}</tr></thead>" if heads else ""
    body = "".join(f"<tr>{cell(first, 'th')}{''.join(cell(text, 'td') for text in rest)}</tr>" for first, *rest in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"
