"""`python -m bench gate`: every outcome, its exit code, what build servers read, and what is refused."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import FAST, OUR_PARTS, Answer, bench, copy_of_tiny, on, replace_in

SWEEP = ("-m", "collection=boreal", "retriever=bm25", "bm25.k1=1.2,1.5", "reranker=none,overlap")
BM25, WORSE = "bm25", "bm25+overlap"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four systems over Boreal in `new`, the same in `old` at other k, and a few needs in `tiny`, timed."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BENCH_CACHE", str(folder / "cache"))
        assert bench(*SWEEP, "k=[5,10]", "name=new", on=FAST).code == 0
        assert bench(*SWEEP, "k=[3,5]", "name=old", on=FAST).code == 0
        timed = ("timing=default", "timing.calls=9", "timing.seconds=1", "name=tiny")
        assert bench("retriever=bm25", "k=5", *timed, on=on(copy_of_tiny(folder))).code == 0
    return folder


@pytest.fixture(autouse=True)
def _there(made, monkeypatch):
    """The folders are only read."""
    monkeypatch.chdir(made)
    monkeypatch.setenv("BENCH_CACHE", str(made / "cache"))


def gate(*words) -> Answer:
    return bench("gate", *map(str, words), on=())


def cell(name: str, k: int, system: str = BM25) -> dict:
    (row,) = (
        pd.read_parquet(f"outputs/{name}/grid.parquet")
        .query("system == @system and k == @k")
        .to_dict("records")
    )
    return row


class TestLimits:
    def test_each_rule_is_a_line_with_its_figure(self):
        row = cell("new", 5)
        words = (
            "--system",
            BM25,
            "--min",
            "nDCG@5=0.5",
            "--min-lo",
            "recall@5=0.1",
            "--max",
            "context_tokens@5=9999",
        )

        answer = gate("outputs/new", *words)

        assert answer.code == 0
        assert answer.out.splitlines() == [
            f"pass       nDCG@5 >= 0.5: {row['ndcg']:.4f}",
            f"pass       R@5 (lower end) >= 0.1: {row['recall_lo']:.4f}",
            f"pass       context_tokens@5 <= 9999: {row['context_tokens']:.4g}",
            "bm25 on boreal (outputs/new) passes: of 3 rules 3 kept",
        ]

    def test_a_breach_says_by_how_much_and_is_exit_code_1(self):
        row = cell("new", 5)
        answer = gate(
            "outputs/new",
            "--system",
            BM25,
            "--k",
            5,
            "--min",
            "nDCG=0.95",
            "--max",
            "latency_p95_ms@5=1",
            *(),
        )
        assert answer.code == 2  # latency was not measured: no rule can hold
        assert (
            "latency_p95_ms@5 was not measured for bm25 of outputs/new: its command ran with timing=off"
            in answer.err
        )
        answer = gate(
            "outputs/new", "--system", BM25, "--k", 5, "--min", "nDCG=0.95", "--max", "context_tokens=1"
        )
        assert answer.code == 1
        assert f"breach     nDCG@5 >= 0.95: {row['ndcg']:.4f}, {0.95 - row['ndcg']:.4f} short" in answer.out
        assert f"{row['context_tokens'] - 1:.4g} over" in answer.out
        assert answer.out.splitlines()[-1].endswith("does not pass: of 2 rules 2 breached")

    def test_a_rule_without_k_takes_the_one_that_the_others_name(self):
        answer = gate(
            "outputs/new",
            "--system",
            BM25,
            "--min",
            "nDCG@5=0",
            "--max",
            "context_tokens=9999",
            "--min",
            "R=0",
        )
        assert answer.code == 0
        assert "context_tokens@5 <= 9999" in answer.out
        assert "R@5 >= 0" in answer.out
        answer = gate(
            "outputs/new",
            "--system",
            BM25,
            "--min",
            "nDCG@5=0",
            "--min",
            "R@10=0",
            "--max",
            "context_tokens=1",
        )
        assert answer.code == 2
        assert "context_tokens of bm25 of outputs/new: at which k?" in answer.err

    def test_a_figure_that_was_not_measured_is_refused(self):
        answer = gate("outputs/new", "--system", BM25, "--max", "latency_p95_ms@5=50", "--undecided", "pass")
        assert answer.code == 2
        said = "latency_p95_ms@5 was not measured for bm25 of outputs/new: its command ran with timing=off"
        assert said in answer.err

    def test_a_figure_equal_to_its_limit_keeps_the_rule(self):
        assert gate("outputs/new", "--system", BM25, "--min", f"nDCG@5={cell('new', 5)['ndcg']!r}").code == 0

    def test_a_figure_that_is_the_same_at_every_k_needs_none(self):
        assert gate("outputs/new", "--system", BM25, "--max", "index_bytes=1e9").code == 0
        assert gate("outputs/new", "--system", BM25, "--min", "Rprec=0").code == 0

    def test_too_few_needs_or_calls_are_undecided(self):
        words = ("outputs/tiny", "--min-lo", "nDCG@5=0.1", "--max", "latency_p99_ms@5=1000")
        answer = gate(*words)
        assert answer.code == 1
        assert "undecided  nDCG@5 (lower end) >= 0.1:" in answer.out
        assert "too few needs for an interval: 10 are the least" in answer.out
        assert "undecided  latency_p99_ms@5 <= 1000: too few calls were timed: p99 takes 368" in answer.out
        assert gate(*words, "--undecided", "pass").code == 0


class TestAgainst:
    def test_no_loss_is_a_pass_a_great_loss_a_breach_and_what_is_open_undecided(self):
        rules = ("--against", "outputs/old", "--against-system", BM25, "--no-worse-than", "nDCG@5=0.02")
        better = gate("outputs/new", "--system", BM25, "--against", "outputs/old", "--against-system", WORSE,
                      "--no-worse-than", "nDCG@5=0.02")  # fmt: skip
        worse = gate("outputs/new", "--system", WORSE, *rules)
        assert (better.code, worse.code) == (0, 1)
        assert better.out.startswith("pass       nDCG@5 loses at most 0.02: +0.0")
        assert worse.out.startswith("breach     nDCG@5 loses at most 0.02: -0.0")
        assert "against bm25 of outputs/old (95 %: -0." in worse.out

    def test_what_is_open_is_undecided_and_says_how_many_queries_would_tell(self):
        words = (
            "outputs/new",
            "--system",
            "bm25(k1=1.2)",
            "--against",
            "outputs/old",
            "--against-system",
            BM25,
        )
        answer = gate(*words, "--no-worse-than", "nDCG@5=0.001")
        assert answer.code == 1
        assert answer.out.startswith("undecided  nDCG@5 loses at most 0.001: ")
        assert "is not ruled out. About " in answer.out
        assert gate(*words, "--no-worse-than", "nDCG@5=0.001", "--undecided", "pass").code == 0

    def test_what_has_not_changed_passes_however_few_queries_there_are(self):
        answer = gate("outputs/tiny", "--against", "outputs/tiny", "--no-worse-than", "nDCG@5=0.02")
        assert answer.code == 0
        assert "the same system on the same documents, and the same value on every query" in answer.out

    def test_a_k_that_only_one_of_them_has_is_refused(self):
        answer = gate(
            "outputs/new", "--system", BM25, "--against", "outputs/old", "--no-worse-than", "nDCG@10=0.02"
        )
        assert answer.code == 2
        assert "nDCG@10: bm25 of outputs/old has no k=10; its k are 3, 5" in answer.err

    def test_other_judgements_and_other_collections_are_refused(self, tmp_path, monkeypatch):
        assert (
            "nothing of a collection 'boreal'"
            in gate(
                "outputs/new", "--system", BM25, "--against", "outputs/tiny", "--no-worse-than", "nDCG@5=0.02"
            ).err
        )
        monkeypatch.chdir(tmp_path)
        tiny = copy_of_tiny(tmp_path)
        assert bench("retriever=bm25", "k=5", "name=old", on=on(tiny)).code == 0
        replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")
        assert bench("retriever=bm25", "k=5", "name=new", on=on(tiny)).code == 0
        answer = gate("outputs/new", "--against", "outputs/old", "--no-worse-than", "nDCG@5=0.02")
        assert answer.code == 2
        assert "are others in outputs/new than in outputs/old" in answer.err


class TestFiles:
    WORDS = ("outputs/tiny", "--min", "nDCG@5=0.99", "--min", "R@5=0", "--min-lo", "R@5=0.1")

    def read(self, *words) -> ET.Element:
        assert gate(*self.WORDS, "--junit", "gate.xml", *words).code == 1
        return ET.parse("gate.xml").getroot()

    def test_junit_has_a_testcase_a_rule_and_a_failure_where_the_gate_stops(self):
        (suite,) = self.read()
        assert suite.tag == "testsuite"
        assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
            "tests": "3", "failures": "2", "errors": "0", "skipped": "0",
        }  # fmt: skip
        cases = {case.get("name"): case for case in suite}
        assert {case.get("classname") for case in cases.values()} == {"tiny.bm25"}
        assert cases["nDCG@5 >= 0.99"].find("failure").get("type") == "breach"
        assert "short" in cases["nDCG@5 >= 0.99"].find("failure").get("message")
        assert cases["R@5 (lower end) >= 0.1"].find("failure").get("type") == "undecided"
        assert cases["R@5 >= 0"].find("failure") is None

    def test_what_may_be_undecided_is_skipped_there(self):
        (suite,) = self.read("--undecided", "pass")
        assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
        assert suite[2].find("skipped") is not None

    def test_markdown_is_a_table_with_the_answer_above(self):
        gate(*self.WORDS, "--markdown", "gate.md")
        answer, head, *_ = Path("gate.md").read_text().split("\n\n")
        assert answer.startswith("**bm25 on tiny (outputs/tiny) does not pass")
        assert head.splitlines()[0] == "| rule | outcome | figures |"
        assert len(head.splitlines()) == 2 + 3


class TestRequests:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("", "without a rule there is nothing to hold the system to"),
            ("--min nDCG@5=0.5", "which system of outputs/new? --system SYSTEM: bm25, bm25(k1=1.2)"),
            ("--system bm26 --min R@5=0", "no system 'bm26' on boreal; did you mean 'bm25'?"),
            ("--system bm25 --min R=0", "R of bm25 of outputs/new: at which k? its k are 5, 10"),
            ("--system bm25 --min R@7=0", "R@7: bm25 of outputs/new has no k=7; its k are 5, 10"),
            ("--system bm25 --k 7 --min R=0", "bm25 of outputs/new has no k=7"),
            ("--system bm25 --no-worse-than R@5=0.1", "--against outputs/NAME is missing"),
            ("--system bm25 --min R@5=0 --against outputs/old", "without --no-worse-than"),
        ],
    )  # fmt: skip
    def test_what_is_asked_wrongly_is_exit_code_2(self, words, said):
        answer = gate("outputs/new", *words.split())
        assert answer.code == 2
        assert said in answer.err
        assert answer.out == ""

    def test_every_problem_is_told_at_once(self):
        answer = gate("outputs/new", "--system", BM25, "--min", "R@7=0", "--max", "latency_p50_ms@5=1")
        assert "R@7" in answer.err
        assert "latency_p50_ms@5" in answer.err

    def test_help_has_examples(self):
        answer = gate("--help")
        assert answer.code == 0
        assert "python -m bench gate outputs/default --system hybrid --min nDCG@5=0.70" in answer.out


def test_a_system_that_failed_breaches_every_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    words = ("-m", "retriever=bm25", "reranker=none,broken", "k=5")
    assert bench(*OUR_PARTS, *words, on=on(copy_of_tiny(tmp_path))).code == 1
    answer = gate("outputs/default", "--system", "bm25+broken", "--min", "nDCG@5=0.1")
    assert answer.code == 1
    assert answer.out.startswith("breach     nDCG@5 >= 0.1: no figure: failed: ")


def test_of_several_collections_one_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    tiny = copy_of_tiny(tmp_path)
    for folder in (tiny, Path(shutil.copytree(tiny, "other"))):
        assert bench("retriever=bm25", "k=5", on=on(folder)).code == 0
    answer = gate("outputs/default", "--min", "nDCG@5=0")
    assert answer.code == 2
    assert "outputs/default holds several collections: other, tiny; --collection NAME" in answer.err
    assert gate("outputs/default", "--collection", "other", "--min", "nDCG@5=0").code == 0
