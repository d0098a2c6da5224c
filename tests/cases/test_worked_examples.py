"""The worked examples of the course, A to J, as a reader meets them: in the tables of a run and of `evaluate`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cases.everything import evaluated, trec_lines, value, written
from tests.cli.program import bench, on

from bench.metrics import dcg

JUDGED = {
    "a": {"r1": 1, "r2": 1},
    "a-moved": {"r1": 1, "r2": 1},
    "a-late": {"r1": 1, "r2": 1},
    "b": {"r1": 1, "r2": 1, "r3": 1},
    "c": {"12": 1, "34": 1, "56": 1},
    "d1": {"r1": 1},
    "d2": {"r1": 1},
    "d3": {"r1": 1},
    "e": {"A": 3, "B": 2, "C": 1, "D": 0},
    "f": {"r1": 1, "r2": 1, "r3": 1},
    "j": {"r1": 1, "n1": 0, "n2": 0, "n3": 0},
}
RANKED = {
    "a": ["r1", "x1", "x2", "r2", "x3"],
    "a-moved": ["r1", "r2", "x1", "x2", "x3"],
    "a-late": ["x1", "x2", "x3", "r1", "r2"],
    "b": ["x1", "r1", "r2", "x2"],
    "c": ["12", "78", "34", "90", "56"],
    "d1": ["r1"],
    "d2": ["x1", "x2", "r1"],
    "d3": ["x1", "r1"],
    "e": ["B", "D", "A"],
    "f": ["r1", "x1", "r2", "x2", "x3", "r3", "x4", "x5", "x6", "x7"],
    "j": ["r1", "n1", "n2", "n3", "x1"],
}
PRINTED = {
    ("a", 5): {"P": "0.400", "R": "1.000", "RR": "1.000", "nDCG": "0.877", "ContextPrecision": "0.750"},
    ("a-moved", 5): {"P": "0.400", "R": "1.000", "RR": "1.000", "nDCG": "1.000", "ContextPrecision": "1.000"},
    ("a-late", 5): {"P": "0.400", "ContextPrecision": "0.325"},
    ("b", 4): {
        "P": "0.50",
        "R": "0.667",
        "RR": "0.500",
        "nDCG": "0.5307",
        "nDCG_retrieved": "0.6934",
        "ContextPrecision": "0.583",
    },
    ("c", 5): {"P": "0.60", "R": "1.0", "ContextPrecision": "0.756"},
    ("c", 3): {"R": "0.6667"},
    ("e", 3): {"nDCG": "0.735"},
    ("f", 3): {"P": "0.667", "R": "0.667"},
    ("f", 10): {"P": "0.30", "R": "1.0"},
    ("j", 5): {"nDCG": "1.000"},
}
"""Each figure with the digits that the course prints."""
COLUMNS = {
    "P": "precision",
    "R": "recall",
    "RR": "mrr",
    "nDCG": "ndcg",
    "nDCG_retrieved": "ndcg_retrieved",
    "ContextPrecision": "context_precision",
}
KS = "[3,4,5,10]"


def as_printed(figure, printed):
    return f"{figure:.{len(printed.partition('.')[2])}f}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The examples as one collection and one stored run."""
    made = tmp_path_factory.mktemp("examples")
    ids = sorted({doc for docs in (*JUDGED.values(), *RANKED.values()) for doc in docs})
    written(
        made / "course", {doc: f"texto {doc}" for doc in ids}, {q: f"pregunta {q}" for q in JUDGED}, JUDGED
    )
    (made / "run.trec").write_text(trec_lines(RANKED))
    return made


def asked(folder, *words, queries=JUDGED):
    """The rows of `evaluate` on some of the examples."""
    qrels = Path("qrels.txt")
    qrels.write_text("".join(f"{q} 0 {doc} {grade}\n" for q in queries for doc, grade in JUDGED[q].items()))
    answer = bench(
        "evaluate",
        "--qrels",
        str(qrels),
        "--run",
        str(folder / "run.trec"),
        "--format",
        "json",
        *words,
        on=(),
    )
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_the_tables_of_a_run_have_the_figures_of_the_course(folder, in_folder):
    words = ("retriever=run_file", f"run_file.path={folder / 'run.trec'}", f"k={KS}")

    answer = bench(*words, on=on(folder / "course"))

    assert answer.code == 0, answer.err
    table = pd.read_parquet("outputs/default/per_query.parquet").set_index(["query_id", "k"])
    for (query, k), figures in PRINTED.items():
        found = {
            name: as_printed(table.loc[(query, k), COLUMNS[name]], text) for name, text in figures.items()
        }
        assert found == figures, (query, k)


def test_evaluate_has_the_figures_of_the_course(folder, in_folder):
    answer = asked(folder, "--measures", ",".join(COLUMNS), "--k", "3,4,5,10", "--per-query")

    values = {(row["query_id"], row["measure"]): row["value"] for row in answer["per_query"]}
    for (query, k), figures in PRINTED.items():
        found = {name: as_printed(values[query, f"{name}@{k}"], text) for name, text in figures.items()}
        assert found == figures, (query, k)


def test_a_two_relevant_chunks_at_ranks_1_and_4_have_this_dcg_of_this_ideal():
    gains = evaluated({"q": JUDGED["a"]}, {"q": RANKED["a"]}, ks=[5]).gains
    assert as_printed(dcg(gains.ranked, 5)[0], "1.431") == "1.431"
    assert as_printed(dcg(gains.ideal, 5)[0], "1.631") == "1.631"


def test_b_the_courses_ideal_is_offered_by_its_own_name_and_is_not_called_ndcg(folder, in_folder):
    rows = asked(folder, "--measures", "nDCG@4,nDCG_retrieved@4", queries=["b"])["measures"]
    assert {row["measure"]: as_printed(row["mean"], "0.5307") for row in rows} == {
        "nDCG@4": "0.5307",
        "nDCG_retrieved@4": "0.6934",
    }
    gains = evaluated({"q": JUDGED["b"]}, {"q": RANKED["b"]}, ks=[4]).gains
    assert as_printed(dcg(gains.ranked, 4)[0], "1.1309") == "1.1309"
    assert as_printed(dcg(gains.ideal, 4)[0], "2.1309") == "2.1309"


def test_d_first_relevant_at_ranks_1_3_and_2_is_a_mean_of_0_611(folder, in_folder):
    (row,) = asked(folder, "--measures", "RR@5", queries=["d1", "d2", "d3"])["measures"]
    assert as_printed(row["mean"], "0.611") == "0.611"
    assert row["queries"] == 3


def test_e_graded_gains_are_linear():
    gains = evaluated({"q": JUDGED["e"]}, {"q": RANKED["e"]}, ks=[3]).gains
    assert dcg(gains.ranked, 3)[0] == pytest.approx(3.5)
    assert as_printed(dcg(gains.ideal, 3)[0], "4.762") == "4.762"


def test_f_a_larger_k_costs_precision_and_finds_the_rest():
    three, ten = (
        [value(measure, k, JUDGED["f"], RANKED["f"]) for measure in ("precision", "recall")] for k in (3, 10)
    )
    assert three == pytest.approx([2 / 3, 2 / 3])
    assert ten == [0.3, 1.0]


# G: what precision, recall and reciprocal rank say together.


def test_g_four_of_five_right_with_half_of_all_means_eight_and_no_ranking_of_five_has_more_than_0_625():
    judged = {f"r{i}": 1 for i in range(8)}
    ranking = ["r0", "r1", "x", "r2", "r3", "r4", "r5", "r6", "r7"]
    assert (value("precision", 5, judged, ranking), value("recall", 5, judged, ranking)) == (0.8, 0.5)
    best = max(value("recall", 5, judged, list(top)) for top in itertools.combinations([*judged, "x"], 5))
    assert best == 5 / 8 == 0.625
    assert 1 - best == 0.375  # no place among five for these
    assert best - 0.5 == 0.125  # a place, but it went to another
    assert value("recall", 9, judged, ranking) == 1.0  # only a larger k covers all


def test_g_where_recall_is_whole_a_reranker_at_this_k_gains_nothing_in_precision_and_a_smaller_k_does():
    judged = {"r1": 1, "r2": 1}
    ranking = ["x", "r1", "y", "z", "r2"]
    assert (value("precision", 5, judged, ranking), value("recall", 5, judged, ranking)) == (0.4, 1.0)
    orders = list(itertools.permutations(ranking))
    assert {value("precision", 5, judged, list(order)) for order in orders} == {0.4}
    assert max(value("precision", 2, judged, list(order)) for order in orders) == 1.0


def test_g_a_good_chunk_that_is_buried_is_brought_up_by_reordering_alone():
    judged = {"r1": 1, "r2": 1, "r3": 1, "r4": 1}
    buried, reordered = ["x", "r1", "r2", "r3", "r4"], ["r1", "r2", "r3", "r4", "x"]
    for measure in ("precision", "recall"):
        assert value(measure, 5, judged, buried) == value(measure, 5, judged, reordered)
    assert value("mrr", 5, judged, buried) == 0.5
    assert value("mrr", 5, judged, reordered) == 1.0


def test_i_context_precision_ranks_and_ignores_coverage_and_precision_does_neither():
    judged = JUDGED["b"]
    orders = list(itertools.permutations(["x1", "r1", "r2", "x2"]))
    assert len({value("context_precision", 4, judged, list(order)) for order in orders}) > 3
    assert {value("precision", 4, judged, list(order)) for order in orders} == {0.5}
    more = {**judged, **{f"missed{i}": 1 for i in range(9)}}
    ranking = ["x1", "r1", "r2", "x2"]
    assert value("context_precision", 4, more, ranking) == value("context_precision", 4, judged, ranking)


def test_j_an_unjudged_document_leaves_ndcg_between_0_850_and_1(folder, in_folder):
    (row,) = asked(folder, "--measures", "nDCG@5", "--bounds", queries=["j"])["measures"]
    found = (
        as_printed(row["low"], "0.850"),
        as_printed(row["mean"], "1.000"),
        as_printed(row["high"], "1.000"),
    )
    assert found == ("0.850", "1.000", "1.000")
