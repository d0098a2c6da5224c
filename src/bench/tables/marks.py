"""What the marks behind a printed figure say."""

from __future__ import annotations

SAID = {
    "*": "best",
    "~": "another order of equal scores could change it",
    "?": "what is unjudged within k could change it",
}
"""The marks, and what they say."""


def legend(shown: str) -> str | None:
    """One line about the marks among these characters, None where there are none."""
    said = [f"{mark} {meaning}" for mark, meaning in SAID.items() if mark in shown]
    return "; ".join(said) or None
