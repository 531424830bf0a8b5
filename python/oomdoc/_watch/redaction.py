"""Masks secrets, using the rows of rules/redaction/ that `cargo run --example secrets` writes beside this module."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Pattern, Tuple

ROWS = Path(__file__).with_name("secrets.json")
# A longer text is withheld completely: after a cut, part of a secret might no longer be recognised.
LONGEST = 262_144
WITHHELD = "‹withheld›"


class Redactor:
    """Masks secrets. It loads its rows at the first call, and compiles a row's patterns when a text contains one of its triggers."""

    def __init__(self) -> None:
        self._rows: List[Dict[str, Any]] = []
        self._patterns: Dict[str, Pattern[str]] = {}

    def text(self, text: str) -> str:
        """`text` with its secrets masked; all of it is withheld if masking fails."""
        try:
            return self._masked(text) if len(text) <= LONGEST else WITHHELD
        except Exception:
            return WITHHELD

    def _masked(self, text: str) -> str:
        if not self._rows:
            self._rows = json.loads(ROWS.read_text(encoding="utf-8"))
        plain, places = _plain(text)
        small = plain.lower()
        secrets: List[Tuple[int, int, str]] = []
        for row in self._rows:
            if not row["triggers"] or any(trigger in small for trigger in row["triggers"]):
                secrets += [(places[start], places[stop], name) for start, stop, name in self._found(row, plain)]
        end, parts = 0, []
        for start, stop, name in sorted(secrets):
            if stop <= end:
                continue
            start = max(start, end)
            parts += [text[end:start], _cover(text[start:stop], f"‹{name}›")]
            end = stop
        return "".join([*parts, text[end:]])

    def _found(self, row: Dict[str, Any], text: str) -> List[Tuple[int, int, str]]:
        found = []
        for match in self._pattern(row["pattern"]).finditer(text):
            groups = sorted((match.start(name), name) for name, words in match.groupdict().items() if words and name.startswith("secret"))
            start, stop = _bare(text, *match.span(groups[0][1])) if groups else match.span()
            words = text[start:stop]
            around = text[_word_before(text, match.start()) : match.end()]
            refuted = row["unless"] and self._pattern(row["unless"]).search(around)
            refuted = refuted or any(self._pattern(one).search(words) for one in row["harmless"])
            if words and "‹" not in words and not refuted:
                found.append((start, stop, row["name"]))
        return found

    def _pattern(self, pattern: str) -> Pattern[str]:
        known = self._patterns.get(pattern)
        if known is None:
            # Patterns match ASCII letters only, except within `(?u:…)`.
            known = self._patterns[pattern] = re.compile(pattern, re.ASCII)
        return known


def _plain(text: str) -> Tuple[str, List[int]]:
    """`text` with full-width characters and escapes (of URLs and quotes) decoded, and the position of each resulting character in the
    original.
    """
    plain, places, at = [], [], 0
    for part in re.finditer(r"%([2-7][0-9A-Fa-f])|\\([\"'])|.", text, re.DOTALL):
        words = part.group()
        full_width = len(words) == 1 and "\uff01" <= words <= "\uff5e"
        meant = chr(int(part.group(1), 16)) if part.group(1) else part.group(2) or words
        plain.append(chr(ord(words) - 0xFEE0) if full_width else meant)
        places.append(at)
        at += len(words)
    return "".join(plain), [*places, at]


def _bare(text: str, start: int, stop: int) -> Tuple[int, int]:
    """The span from `start` to `stop` without surrounding quotes and brackets."""
    words = text[start:stop]
    unmarked = words.lstrip("rbufRBUF")
    if unmarked[:1] in {'"', "'", "`"}:
        start += len(words) - len(unmarked)
    start += len(text[start:stop]) - len(text[start:stop].lstrip("\"'`["))
    return start, start + len(text[start:stop].rstrip("\"'`])}\\"))


def _word_before(text: str, at: int) -> int:
    """The start of the word directly before `at`, separated by one space: the `backward` of "backward pass: 3"."""
    word = re.search(r"[A-Za-z]+ $", text[:at][-64:])
    return at - len(word.group()) if word else at


def _cover(secret: str, mask: str) -> str:
    """`secret` with each line replaced by `mask`."""
    return "\n".join(mask if line.strip() else line for line in secret.split("\n"))
