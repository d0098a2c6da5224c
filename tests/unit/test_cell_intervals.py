"""The intervals that a job's cells carry: by need, on one set of resamples, and none where there is too little."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.cells import Cells
from bench.collection import Collection, Doc, Query
from bench.metrics import MEASURES
from bench.statistics.intervals import mean_interval
from bench.statistics.resampling import Resamples

DOCS = [f"d{i}" for i in range(6)]


def collection_of(queries: int, *, needs: int) -> Collection:
    """Each query has two relevant documents; the queries go round the needs."""
    asked = [Query(id=f"q{i:02}", text="?", metadata={"need": f"n{i % needs:02}"}) for i in range(queries)]
    random = np.random.default_rng(0)
    judged = {q.id: dict.fromkeys(random.choice(DOCS, 2, replace=False).tolist(), 1) for q in asked}
    docs = tuple(Doc(id=doc, text="one two three") for doc in DOCS)
    return Collection(name="c", docs=docs, queries=tuple(asked), qrels=make_qrels(judged))


def cells_of(collection: Collection, measures=("recall", "success", "r_precision"), budgets=()) -> Cells:
    run = make_run(dict.fromkeys(collection.query_ids, DOCS))
    return Cells.of(
        run, collection, ks=[1, 3], budgets=budgets, measures=[MEASURES[name] for name in measures]
    )


def test_every_mean_has_the_interval_of_its_values_by_need():
    collection = collection_of(40, needs=25)
    cells = cells_of(collection)
    resamples = Resamples.of([query.need for query in collection.queries])
    for row in cells.rows(collection.query_ids):
        for name in ("recall", "success", "r_precision"):
            expected = mean_interval(cells.at.values[name, row["k"]], resamples)
            assert (row[f"{name}_lo"], row[f"{name}_hi"]) == pytest.approx((expected.lo, expected.hi))
            assert row[f"{name}_lo"] < row[name] < row[f"{name}_hi"]


def test_queries_of_shared_needs_make_wider_intervals_than_as_many_needs():
    def width(collection: Collection) -> float:
        (row, _) = cells_of(collection).rows(collection.query_ids)
        return row["recall_hi"] - row["recall_lo"]

    alone = collection_of(40, needs=40)
    doubled = dataclasses.replace(
        alone,
        queries=(*alone.queries, *(dataclasses.replace(q, id=f"{q.id}b") for q in alone.queries)),
        qrels=make_qrels(
            {
                query + copy: dict.fromkeys(docs, 1)
                for query, docs in ((q, alone.qrels.of_queries([q]).doc_ids) for q in alone.query_ids)
                for copy in ("", "b")
            }
        ),
    )
    # The same needs asked twice say nothing new.
    assert width(doubled) == pytest.approx(width(alone), rel=1e-9)


def test_a_token_budget_has_intervals_too():
    collection = collection_of(20, needs=20)
    *_, row = cells_of(collection, budgets=[7]).rows(collection.query_ids)
    assert row["budget"] == 7
    assert row["recall_lo"] < row["recall"] < row["recall_hi"]


def test_below_ten_needs_a_cell_has_no_interval():
    collection = collection_of(40, needs=9)
    for row in cells_of(collection).rows(collection.query_ids):
        assert not [name for name in row if name.endswith(("_lo", "_hi"))]


def test_the_same_queries_are_resampled_alike_whatever_was_measured_beside_them():
    collection = collection_of(40, needs=40)
    alone, beside = (cells_of(collection, names) for names in (("recall",), ("precision", "recall", "mrr")))
    for one, other in zip(alone.rows(collection.query_ids), beside.rows(collection.query_ids), strict=True):
        assert one["recall_lo"] == pytest.approx(other["recall_lo"], abs=1e-12)
