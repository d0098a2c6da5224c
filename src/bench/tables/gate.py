"""What became of the rules of a gate, told: a line a rule, JUnit XML for a build server, Markdown for its page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from bench.artifacts import write_text
from bench.output import write_out
from bench.statistics.rules import UNDECIDED, Gate
from bench.tables.blocks import Block, Line, Rows, as_markdown

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def told(gate: Gate, *, junit: Path | None = None, markdown: Path | None = None) -> int:
    """Print a line a rule and write the files that are wanted; the exit code is 1 unless the gate passes."""
    for line in lines(gate):
        print(line)
    if junit is not None:
        write_out(junit, write_text(as_junit(gate)))
    if markdown is not None:
        write_out(markdown, write_text(as_markdown(blocks(gate))))
    return 0 if gate.passed else 1


def lines(gate: Gate) -> Iterator[str]:
    """A line a rule, then the answer."""
    for outcome in gate.outcomes:
        yield f"{outcome.kind:<{len(UNDECIDED)}}  {outcome.rule.text}: {outcome.said}"
    yield from gate.notes
    yield gate.sentence


def blocks(gate: Gate) -> Iterator[Block]:
    """The same as a page."""
    yield Line(gate.sentence, heading=True)
    rows = [(outcome.rule.text, outcome.kind, outcome.said) for outcome in gate.outcomes]
    yield Rows(("rule", "outcome", "figures"), rows, words=2)
    yield from map(Line, gate.notes)


def as_junit(gate: Gate) -> str:
    """A testsuite, a testcase a rule: a breach is a failure, and so is what is undecided unless that passes."""
    failures = sum(gate.stops(outcome) for outcome in gate.outcomes)
    skipped = sum(outcome.kind == UNDECIDED and not gate.stops(outcome) for outcome in gate.outcomes)
    counts = {
        "tests": str(len(gate.outcomes)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": _xml(f"bench gate {gate.folder}"), **counts})
    for outcome in gate.outcomes:
        named = {"classname": _xml(f"{gate.collection}.{gate.system}"), "name": _xml(outcome.rule.text)}
        case = ET.SubElement(suite, "testcase", named)
        said = _xml(outcome.said)
        if gate.stops(outcome):
            ET.SubElement(case, "failure", {"message": said, "type": outcome.kind}).text = said
        elif outcome.kind == UNDECIDED:
            ET.SubElement(case, "skipped", {"message": said})
        else:
            ET.SubElement(case, "system-out").text = said
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _xml(text: str) -> str:
    """Without the characters that XML has no place for."""
    return _NOT_XML.sub("\ufffd", text)
