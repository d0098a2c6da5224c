"""`evaluate` on NIST's own sample files prints the figures that NIST prints, and has the values behind them."""

from __future__ import annotations

import json

import pytest
from tests.cli.program import bench
from tests.conftest import COLLECTIONS

from bench.metrics import parse

FOLDER = COLLECTIONS / "trec_eval_tests"
TEST = FOLDER / "test"
pytestmark = pytest.mark.skipif(not TEST.is_dir(), reason=f"NIST's files are not at {FOLDER}")

CUT = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "success": "Success"}
WHOLE = {"recip_rank": "RR@1000", "map": "AP@1000", "ndcg": "nDCG@1000", "Rprec": "Rprec", "bpref": "Bpref"}


def ours(name):
    """Our name of a measure of trec_eval, None where we have no such measure."""
    if name in WHOLE:
        return WHOLE[name]
    head, _, k = name.rpartition("_")
    return f"{CUT[head]}@{k}" if head in CUT and k.isdigit() else None


def printed(file):
    """NIST's figures as they are printed, by topic (`all` for the mean) and our name of the measure."""
    found = {}
    for line in (TEST / file).read_text().splitlines():
        name, topic, figure = line.split()
        if ours(name):
            found.setdefault(topic, {})[ours(name)] = figure
    assert len(found["all"]) >= 5
    return found


def at_level(name, rel):
    """The measure at another level of relevance, by the name it prints; nDCG knows no level."""
    measure, k = parse(name)
    if measure.name == "ndcg" or rel == 1:
        return name
    measure = measure.given({"rel": rel})
    return str(measure) if k is None else measure.at(k)


def evaluated(qrels, run, names, *switches):
    """The answer of the program."""
    answer = bench(
        "evaluate", "--qrels", str(TEST / qrels), "--run", str(TEST / run),
        "--measures", ",".join(names), *switches, on=(),
    )  # fmt: skip
    assert answer.code == 0, answer.err
    return answer


def rows_of(out):
    """The figures of the tables in the terminal, by row and measure, without marks."""
    found = {}
    header = []
    for line in out.splitlines():
        words = line.split()
        if words[:1] == ["run"]:
            header = words[1:]
        elif header and len(words) == len(header) + 1 and "measures" not in header:
            found.setdefault(words[0], {}).update(
                {name: word.rstrip("~?") for name, word in zip(header, words[1:], strict=True)}
            )
    return found


FILES = {
    "with -m all_trec": ("qrels.test", "results.test", "out.test.a", 1, ["--trec-eval"]),
    "by query": ("qrels.test", "results.test", "out.test.aq", 1, ["--trec-eval"]),
    "by our own rules": ("qrels.test", "results.test", "out.test.aq", 1, []),
    "with comments": ("qrels.test.with-comments", "results.test", "out.test", 1, ["--trec-eval"]),
    "comments inside": ("qrels.comment.test", "results.comment.test", "out.comment.test", 1, ["--trec-eval"]),
    "a topic is missing, with -c": ("qrels.test", "results.trunc", "out.test.aqc", 1, []),
    "grade 2 is relevant, -l2": ("qrels.rel_level", "results.test", "out.test.aql", 2, ["--trec-eval"]),
    "other cut-offs": ("qrels.test", "results.test", "out.test.meas_params", 1, ["--trec-eval"]),
}


@pytest.mark.parametrize("case", FILES)
def test_the_table_prints_the_figures_of_nist_to_the_digit(case):
    qrels, run, output, rel, switches = FILES[case]
    expected = printed(output)
    names = {name: at_level(name, rel) for name in expected["all"]}
    answer = evaluated(qrels, run, names.values(), "--per-query", *switches)
    figures = rows_of(answer.out)
    figures["all"] = figures.pop(run)
    for topic, values in expected.items():
        told = {name: figures[topic][names[name]] for name in values}
        assert told == values, f"{case}, topic {topic}"


EXPECTED = {
    "qrels.test + results.test": ("qrels.test", "results.test", 1, []),
    "qrels.test + results.trunc": ("qrels.test", "results.trunc", 1, ["--trec-eval"]),
    "qrels.rel_level + results.test, relevance level 1": ("qrels.rel_level", "results.test", 1, []),
    "qrels.rel_level + results.test, relevance level 2": ("qrels.rel_level", "results.test", 2, []),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_the_values_by_query_are_those_of_trec_eval_to_rounding(case):
    qrels, run, rel, switches = EXPECTED[case]
    every = json.loads((FOLDER / "expected.json").read_text())[case]
    expected, means = every["queries"], every["mean over these queries"]
    names = {name: at_level(ours(name), rel) for name in means if ours(name)}
    assert len(names) >= 10
    answer = evaluated(qrels, run, names.values(), "--per-query", "--format", "json", *switches)
    found = json.loads(answer.out)
    values = {(row["query_id"], row["measure"]): row["value"] for row in found["per_query"]}
    mean = {row["measure"]: row["mean"] for row in found["measures"]}
    assert {query for query, _ in values} == set(expected)
    for name, printed_as in names.items():
        assert mean[printed_as] == pytest.approx(means[name], abs=1e-12)
        for query, by_name in expected.items():
            assert values[query, printed_as] == pytest.approx(by_name[name], abs=1e-12)


def test_a_missing_topic_is_counted_and_only_by_the_rules_of_trec_eval_left_out():
    (ours_,) = json.loads(evaluated("qrels.test", "results.trunc", ["AP@1000"], "--format", "json").out)[
        "measures"
    ]
    (theirs,) = json.loads(
        evaluated("qrels.test", "results.trunc", ["AP@1000"], "--format", "json", "--trec-eval").out
    )["measures"]
    counts = ("queries", "unanswered", "judged_queries")
    assert [ours_[name] for name in counts] == [3, 1, 3]
    assert [theirs[name] for name in counts] == [2, 1, 3]
    assert ours_["mean"] * 3 == pytest.approx(theirs["mean"] * 2, abs=1e-12)


def test_the_program_finds_itself_equal_to_trec_eval_on_these_files():
    files = [
        "--qrels",
        str(TEST / "qrels.rel_level"),
        "--run",
        str(TEST / "results.test"),
        str(TEST / "results.trunc"),
    ]
    answer = bench("selftest", *files, on=())
    assert answer.code == 0, answer.out
    assert "P(rel=2)" in answer.out
    assert "equal to pytrec_eval-terrier" in answer.out
