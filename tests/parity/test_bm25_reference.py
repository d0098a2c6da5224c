"""BM25 of both engines against figures made elsewhere (REFERENCE.md beside the collections)."""

import functools
import itertools
import json
import os
from pathlib import Path

import pytest
import pytrec_eval
from tests.cli.program import bench

from bench.collection import Collection, Doc, Query
from bench.qrels import Qrels
from bench.retrievers.bm25 import BM25
from bench.text.analyzer import Analyzer

COLLECTIONS = Path(os.environ.get("BENCH_COLLECTIONS", "../shared/collections")).resolve()
LANGUAGE = {"cranfield": "english", "or-sharc": "english", "xquad-es": "spanish", "squad-es": "spanish"}
SYSTEMS = {
    "bm25s-stem-stop": {"analyzer": {"fold": False, "min_length": 2}},
    "bm25s-plain": {"analyzer": {"language": "plain", "min_length": 2}},
    "bm25s-words": {"analyzer": {"language": "plain"}},
    "bm25s-stem-stop-k0.9-b0.4": {"analyzer": {"fold": False, "min_length": 2}, "k1": 0.9, "b": 0.4},
    "rank_bm25-okapi": {"analyzer": {"language": "plain"}, "engine": "rank_bm25"},
}
MEASURES = {
    "P@5": "P_5",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "nDCG@10": "ndcg_cut_10",
    "AP": "map_cut_1000",
}
SMALL = ("cranfield", "or-sharc", "xquad-es")
pytestmark = pytest.mark.skipif(
    not (COLLECTIONS / "reference.json").exists(), reason=f"no reference collections at {COLLECTIONS}"
)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@functools.cache
def load(name):
    folder = COLLECTIONS / name
    docs = [
        Doc(id=d["_id"], title=d.get("title", ""), text=d["text"]) for d in lines(folder / "corpus.jsonl")
    ]
    judged = [line.split("\t") for line in (folder / "qrels/test.tsv").read_text("utf-8").splitlines()[1:]]
    grades: dict[str, dict[str, int]] = {}
    for query, doc, grade in judged:
        grades.setdefault(query, {})[doc] = int(grade)
    queries = [
        Query(id=q["_id"], text=q["text"]) for q in lines(folder / "queries.jsonl") if q["_id"] in grades
    ]
    collection = Collection(name=name, docs=tuple(docs), queries=tuple(queries), qrels=Qrels.of(grades))
    return collection, grades


def retriever(system, collection):
    settings = dict(SYSTEMS[system])
    analyzer = Analyzer(**{"language": LANGUAGE[collection], **settings.pop("analyzer")})
    return BM25(analyzer=analyzer, **settings)


def measured(run, grades):
    """Means over the judged queries by trec_eval, which is given ranks: it would round scores to float32."""
    ranked = {
        query: {run.docs[row]: float(-place) for place, row in enumerate(rows) if row >= 0}
        for query, rows in zip(run.queries, run.rows.tolist(), strict=True)
    }
    first_ten = {query: {doc: at for doc, at in docs.items() if at > -10} for query, docs in ranked.items()}
    values = pytrec_eval.RelevanceEvaluator(grades, set(MEASURES.values())).evaluate(ranked)
    first = pytrec_eval.RelevanceEvaluator(grades, {"recip_rank"}).evaluate(first_ten)
    means = {name: sum(v[key] for v in values.values()) / len(grades) for name, key in MEASURES.items()}
    return means | {"RR@10": sum(v["recip_rank"] for v in first.values()) / len(grades)}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", SMALL)
def test_both_engines_give_the_reference_figures(name, system):
    collection, grades = load(name)
    run = retriever(system, name).index(collection.docs).search(collection.queries, 1000)
    expected = json.loads((COLLECTIONS / "reference.json").read_text("utf-8"))["collections"][name]
    figures = {key: round(expected["systems"][system][key], 4) for key in (*MEASURES, "RR@10")}
    assert {key: round(value, 4) for key, value in measured(run, grades).items()} == figures


@pytest.mark.parametrize("system", ["bm25s-stem-stop", "bm25s-words", "rank_bm25-okapi"])
@pytest.mark.parametrize("name", LANGUAGE)
def test_the_first_ten_documents_are_those_of_the_reference_runs(name, system):
    collection, _ = load(name)
    expected: dict[str, list[str]] = {}
    for line in (COLLECTIONS / name / f"reference_runs/{system}.trec").read_text("utf-8").splitlines():
        query, _, doc, *_ = line.split()
        expected.setdefault(query, []).append(doc)
    queries = [query for query in collection.queries if query.id in expected]
    run = retriever(system, name).index(collection.docs).search(queries, 10)
    assert [[run.docs[row] for row in rows if row >= 0] for rows in run.rows.tolist()] == [
        expected[query] for query in run.queries
    ]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_figures_of_thousands_of_spanish_queries_are_the_reference_figures(system):
    test_both_engines_give_the_reference_figures("squad-es", system)


OVERRIDES = {
    "bm25s-stem-stop": ["analyzer.fold=false", "analyzer.min_length=2"],
    "bm25s-plain": ["analyzer=plain", "analyzer.min_length=2"],
    "bm25s-words": ["analyzer=plain"],
    "bm25s-stem-stop-k0.9-b0.4": [
        "analyzer.fold=false",
        "analyzer.min_length=2",
        "bm25.k1=0.9",
        "bm25.b=0.4",
    ],
    "rank_bm25-okapi": ["analyzer=plain", "bm25.engine=rank_bm25"],
}
PRINTED = {**{name: name for name in MEASURES}, "AP": "AP@1000", "RR@10": "RR@10"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "system"), [*itertools.product(SMALL, SYSTEMS), ("squad-es", "bm25s-stem-stop")]
)
def test_the_program_prints_the_reference_figures_of_its_own_stored_runs(name, system, in_folder):
    folder = COLLECTIONS / name
    words = [
        "collection=beir",
        f"collection.path={folder}",
        f"collection.language={LANGUAGE[name]}",
        "timing=off",
    ]
    made = bench(*words, "retriever=bm25", "depth=1000", *OVERRIDES[system], on=())
    assert made.code == 0, made.err
    # REFERENCE.md counts a query without a relevant document as 0.
    told = bench(
        "evaluate", "--run", "outputs/default", "--qrels", str(folder / "qrels/test.tsv"),
        "--measures", ",".join(PRINTED.values()), "--no-relevant", "zero", "--format", "json", on=(),
    )  # fmt: skip
    assert told.code == 0, told.err
    found = {row["measure"]: round(row["mean"], 4) for row in json.loads(told.out)["measures"]}
    expected = json.loads((COLLECTIONS / "reference.json").read_text("utf-8"))["collections"][name]
    assert found == {PRINTED[key]: round(expected["systems"][system][key], 4) for key in PRINTED}
