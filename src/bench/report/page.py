"""The report as one HTML file that asks nothing of any network: style, charts, tables, facts and scripts are in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from bench.report.charts import whisker
from bench.report.looks import symbols
from bench.report.made import made
from bench.report.payload import payloads
from bench.report.sentences import verdict_text
from bench.report.view import View
from bench.report.words import Words
from bench.statistics.findings import Report

SPOKEN = (
    "no_text", "relevant_count", "no_rankings", "left", "right", "nothing_found", "here", "not_here", "score",
    "cut_here", "left_out", "show_more", "rank", "beyond", "beyond_unknown", "unjudged", "grade", "text_cut",
)  # fmt: skip
"""What the scripts say."""


def page(report: Report) -> str:
    """The page. Everything that came from data is escaped: in the text by Jinja, in the facts as JSON."""
    words = Words(report.lang)
    views = [View(facts, words) for facts in report.findings]
    bare = (
        _environment()
        .from_string(_beside("page.html.jinja"))
        .render(
            w=words,
            title=_title(report, words),
            css=Markup(_beside("page.css")),
            switching=Markup(_switching(views)),
            js=Markup(_beside("page.js")),
            symbols=symbols(),
            views=views,
            breakable=breakable,
            whisker=whisker,
            verdict=lambda step: verdict_text(step.verdict, words),
            made=made(report, words),
            script_words=as_json(
                {"decimal": "," if report.lang == "es" else ".", **{name: words(name) for name in SPOKEN}}
            ),
            payloads=[Markup(f"{_LATER}facts-{n}{_LATER}") for n in range(len(views))],
            depths=[Markup(f"{_LATER}depth-{n}{_LATER}") for n in range(len(views))],
        )
    )
    room = ROOM - len(bare.encode())
    facts = payloads(report.findings, sides=[one.sides for one in views], room=room, words=words)
    filled = {f"facts-{n}": as_json(one.facts) for n, one in enumerate(facts)}
    filled |= {f"depth-{n}": escape(one.note) for n, one in enumerate(facts)}
    return "".join(filled.get(piece, piece) for piece in bare.split(_LATER))


ROOM = 1_950_000
"""So many bytes has a page, if that can be had by showing rankings less deep and texts less long."""


_LATER = "\x00"
"""Stands around what is filled in when it is known how large the rest is."""


def breakable(name: str) -> Markup:
    """A name that may go on in the next line behind a sign."""
    return Markup(re.sub(r"([+(,=])", r"\1<wbr>", str(escape(name))))


def as_json(facts: Mapping[str, Any]) -> Markup:
    """Facts for the scripts. A `<` is written as its number, so that no text of theirs can end the element."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _beside(name: str) -> str:
    return files("bench.report").joinpath(name).read_text(encoding="utf-8")


def _title(report: Report, words: Words) -> str:
    return words("title", collection=words.listed([facts.collection for facts in report.findings]))


def _switching(views: Sequence[View]) -> str:
    """Rules by which a choice shows its measure and its collection, without scripts."""
    rules = []
    for n, one in enumerate(views):
        hide = [f"#a{n}:has(#m{n}-{i}:checked) .om:not(.om-{i})" for i in range(len(one.measures))]
        hide += [
            f"#a{n}:has(#k{n}-{i}-{k}:checked) .om-{i} .ok:not(.ok-{k})"
            for i, name in enumerate(one.measures)
            for k in one.front_ks(name)
            if len(one.front_ks(name)) > 1
        ]
        rules.append(f"{','.join(hide)}{{display:none}}")
        if len(views) > 1:
            rules.append(f"@media screen{{body:has(#c{n}:checked) .collection:not(#a{n}){{display:none}}}}")
    return "\n".join(rules)
