"""Halves of a collection: no need in both, all of it in the two together, and nothing moves when queries come."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import bench, grid, jobs
from tests.conftest import make_qrels

from bench.artifacts import JobFolder
from bench.collection import Collection, Doc, Query
from bench.config import data_folder
from bench.errors import BenchError
from bench.loading import BeirFolder
from bench.splits import SPLITS, half_of, split

needs = st.dictionaries(st.text(min_size=1, max_size=5), st.integers(1, 3), min_size=2, max_size=12)


def collection_of(needs: dict[str, int]) -> Collection:
    queries = tuple(
        Query(id=f"{need} {i}", text="?", metadata={"need": need})
        for need, count in needs.items()
        for i in range(count)
    )
    judged = {query.id: {"d": 1.0} for query in queries}
    return Collection(name="c", docs=(Doc(id="d", text="d"),), queries=queries, qrels=make_qrels(judged))


def halves(collection: Collection) -> dict[str, tuple[Query, ...]]:
    """The queries of each half, none where it is empty."""
    found = {}
    for half in ("dev", "test"):
        try:
            found[half] = split(collection, half).queries
        except BenchError as error:
            assert "is empty" in str(error)
            found[half] = ()
    return found


@given(needs)
def test_no_need_is_in_both_halves_and_together_they_are_all(needs):
    collection = collection_of(needs)
    dev, test = halves(collection).values()

    assert not {query.need for query in dev} & {query.need for query in test}
    assert sorted(query.id for query in (*dev, *test)) == list(collection.query_ids)


@given(needs, needs)
def test_queries_that_are_added_move_nothing(before, added):
    old, new = halves(collection_of(before)), halves(collection_of({**added, **before}))

    for half in old:
        assert {query.id for query in old[half]} <= {query.id for query in new[half]}


def test_a_half_has_the_judgements_of_its_queries_a_name_and_a_note():
    collection = collection_of({f"n{i}": 1 for i in range(20)})
    dev = split(collection, "dev")

    assert dev.name == "c-dev"
    assert dev.qrels.judged_queries == dev.query_ids
    assert dev.notes[-1] == f"split=dev: {len(dev.queries)} of 20 queries, {len(dev.queries)} of 20 needs"
    assert dev.corpus_digest == collection.corpus_digest
    assert dev.queries_digest != collection.queries_digest


def test_all_is_the_collection_itself():
    collection = collection_of({"a": 1})
    assert split(collection, "all") is collection


def test_a_half_that_is_unknown_or_empty_is_refused():
    with pytest.raises(BenchError, match="split=train"):
        split(collection_of({"a": 1}), "train")
    other = next(half for half in SPLITS[1:] if half != half_of("a"))
    with pytest.raises(BenchError, match=f"split={other} is empty: c has 1 needs"):
        split(collection_of({"a": 1}), other)


@pytest.mark.parametrize("name", ["aurora", "boreal"])
def test_the_halves_of_our_collections_are_alike_in_size_and_by_type(name):
    collection = BeirFolder(path=data_folder(name)).load()
    whole, dev = (
        Counter(query.metadata["type"] for query in some)
        for some in (collection.queries, split(collection, "dev").queries)
    )

    assert 0.45 < dev.total() / whole.total() < 0.55
    for kind, count in whole.items():
        assert 0.35 < dev[kind] / count < 0.65, kind


def test_both_halves_stand_in_one_grid_each_under_its_name(in_folder):
    answer = bench("-m", "retriever=bm25", "split=dev,test", "k=1")

    assert answer.code == 0, answer.err
    assert sorted(grid()["collection"]) == ["tiny-dev", "tiny-test"]
    assert "tiny-dev: split=dev:" in answer.err
    assert len(set(grid()["queries_digest"])) == 2
    notes = [JobFolder(path).manifest["notes"] for path in jobs().values()]
    assert any("split=" in note for note in notes[0])
    assert bench("retriever=bm25", "split=devel").code == 2
