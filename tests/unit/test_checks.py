"""What a collection is warned of, and how its judgements are audited."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.conftest import make_run

from bench.audit import departures, leave_one_out, missed, pool_of, ranked_again, repeats
from bench.checks import conflicts, findings
from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.judgements import Judgement, read_log
from bench.qrels import Qrels

LONG = "la devolución de un artículo sin usar se pide en treinta días desde la entrega del pedido en su casa"


def made(docs, queries, judged) -> Collection:
    return Collection(
        name="c",
        docs=tuple(Doc(id=i, text=t) for i, t in docs.items()),
        queries=tuple(Query(id=i, text=t) for i, t in queries.items()),
        qrels=Qrels.of(judged),
    )


def test_equal_near_and_quoted_texts_are_found():
    docs = {"a": LONG, "b": LONG.upper(), "c": LONG + " gratis", "d": "otra cosa"}
    told = list(findings(made(docs, {"q": "un artículo sin usar se pide"}, {"q": {"a": 1}})))
    assert "documents that say the same but for case and blanks: a, b" in told
    assert any("nearly alike" in line and line.endswith("a, c") for line in told)
    assert any("query q stands word for word in" in line for line in told)


def test_what_loading_notes_already_is_not_said_again():
    docs = {"a": LONG, "b": LONG, "c": "otra cosa"}
    assert list(findings(made(docs, {"q": "cosa", "r": "sin juzgar"}, {"q": {"c": 1}}))) == []


def test_a_question_is_looked_for_wherever_its_words_begin():
    docs = {"a": "uno dos tres cuatro cinco. uno dos tres cuatro seis", "b": "uno dos tres cuatro seises"}
    asked = {"q": "¿Uno, dos, tres, cuatro, seis?", "r": "dos tres cuatro", "s": "dos tres cuatro cinco seis"}
    told = list(findings(made(docs, asked, {"q": {"a": 1}})))
    assert told == ["query q stands word for word in a"]


def test_queries_with_nothing_and_with_everything_relevant_are_found():
    told = list(
        findings(
            made({"a": "x", "b": "y"}, {"p": "1", "q": "2", "r": "3"}, {"p": {"a": 0}, "q": {"a": 1, "b": 1}})
        )
    )
    assert any("1 queries have nothing relevant" in line and "p" in line for line in told)
    assert any("query q: every document is relevant" in line for line in told)


def test_equal_texts_with_different_grades_are_a_conflict():
    collection = made(
        {"a": "Uno dos", "b": "uno  DOS", "c": "tres"}, {"q": "¿?"}, {"q": {"a": 1, "b": 0, "c": 0}}
    )
    assert conflicts(collection) == ["query q: one text has several grades: a 1, b 0"]
    composed, apart = "la devolución", "la devolucio\u0301n"
    assert conflicts(made({"a": composed, "b": apart}, {"q": "¿?"}, {"q": {"a": 1, "b": 0}}))
    assert not conflicts(made({"a": "uno", "b": "uno"}, {"q": "¿?"}, {"q": {"a": 1, "b": 1}}))


@pytest.mark.parametrize(("one", "other"), [("C++", "C#"), ("😀", "🚀"), ("¿sí?", "sí")])
def test_signs_tell_texts_apart(one, other):
    collection = made({"a": one, "b": other}, {"p": one, "q": other}, {"q": {"a": 1, "b": 0}})
    assert conflicts(collection) == []
    assert list(findings(collection)) == []


def test_long_texts_that_differ_by_a_sign_alone_are_nearly_alike():
    told = list(findings(made({"a": LONG + " C++", "b": LONG + " C#"}, {"q": "cosa"}, {"q": {"a": 1}})))
    assert told == ["documents nearly alike (1.00 of what is 5 words in a row): a, b"]


def reading(assessor, query, doc, grade) -> Judgement:
    return Judgement(time="2026-01-01", assessor=assessor, query_id=query, doc_id=doc, grade=grade)


def test_kappa_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    pairs = [(0, 0), (0, 1), (1, 1), (2, 2), (2, 1), (0, 0), (2, 0), (1, 2)]
    log = [
        reading(who, "q", f"d{i}", pair[n])
        for i, pair in enumerate(pairs)
        for n, who in enumerate(("x", "y"))
    ]
    both = repeats(log, "x", "y")
    expected = cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic")
    assert (both.pairs, both.equal) == (8, 0.5)
    assert both.quadratic_kappa == pytest.approx(expected)
    assert repeats(log, "x", "z") is None


def test_what_a_pool_missed_is_counted_on_fully_judged_queries_alone():
    docs = {i: i for i in "abc"}
    collection = made(docs, {"p": "1", "q": "2"}, {"p": {"a": 2, "b": 2, "c": 0}, "q": {"a": 2}})
    found = missed(collection, {"p": {"a"}, "q": set()}, rel=1)
    assert (found.queries, found.pooled, found.relevant) == (1, 1, 2)
    assert missed(made(docs, {"q": "2"}, {"q": {"a": 2}}), {}, rel=1) is None


def test_a_system_loses_what_only_it_brought():
    runs = {"one": make_run({"q": ["a", "b"]}, docs="abc"), "two": make_run({"q": ["c", "b"]}, docs="abc")}
    qrels = Qrels.of({"q": {"a": 1, "c": 1}})
    left = {one.system: one for one in leave_one_out(runs, qrels, depth=2)}
    assert left["one"].without == 0.0
    assert pool_of(runs, 1) == {"q": {"a", "c"}}


def test_a_second_reading_can_turn_a_verdict():
    runs = {"one": make_run({"q": ["a"]}, docs="ab"), "two": make_run({"q": ["b"]}, docs="ab")}
    log = [
        reading("pass-1", "q", "a", 2),
        reading("pass-1", "q", "b", 1),
        reading("pass-2", "q", "b", 2),
        reading("pass-2", "q", "a", 1),
    ]
    found = {one.way: one for one in ranked_again(runs, log, "pass-1", "pass-2")}
    assert found["second"].changed == [("one", "two")]
    assert found["higher"].changed == []


def test_an_assessor_may_be_called_like_a_way_to_settle():
    runs = {"one": make_run({"q": ["a"]}, docs="ab"), "two": make_run({"q": ["b"]}, docs="ab")}
    log = [reading("lower", "q", "a", 2), reading("lower", "q", "b", 1), reading("higher", "q", "a", 0)]
    by_name = ranked_again(runs, log, "lower", "higher")
    renamed = [replace(one, assessor={"lower": "x", "higher": "y"}[one.assessor]) for one in log]
    assert by_name == ranked_again(runs, renamed, "x", "y")


def test_the_need_is_the_unit_of_the_interval_of_what_was_missed():
    docs = {i: i for i in "ab"}
    queries = tuple(Query(id=f"q{i}", text="?", metadata={"need": f"n{i // 10}"}) for i in range(20))
    judged = {query.id: {"a": 2, "b": 0} for query in queries}
    collection = replace(made(docs, {}, judged), queries=queries)
    pool = {query.id: {"a"} if query.need == "n0" else set() for query in queries}

    found = missed(collection, pool, rel=2)

    # Of two needs, one found and one not, a quarter of the resamples hold the one alone.
    assert (found.pooled, found.relevant, found.low, found.high) == (10, 20, 0.0, 1.0)
    single = missed(made(docs, dict.fromkeys(judged, "?"), judged), pool, rel=2)
    assert 0.2 < single.low < single.high < 0.8


def test_every_broken_line_of_a_log_is_told(tmp_path):
    good = {"time": "t", "assessor": "a", "query_id": "q", "doc_id": "d", "grade": 1}
    bad = ["{", "[1]", json.dumps({**good, "grade": "2"}), json.dumps({**good, "extra": 1})]
    bad += [json.dumps({**good, "doc_id": 7}), json.dumps({**good, "grade": True})]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([json.dumps(good), *bad]))

    with pytest.raises(BenchError) as caught:
        read_log(path)

    told = str(caught.value)
    assert all(f"{path}:{line}: not a judgement" in told for line in range(2, 8))
    assert "grade is '2', not a number" in told
    assert f"{path}:1" not in told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"grade": float("nan")}, "grade is nan, not a number"),
        ({"grade": 10**400}, "too large"),
        ({"part": 5}, "part is 5, not a text"),
    ],
)
def test_a_reading_that_no_judgement_can_be_made_of_is_told_with_its_line(tmp_path, change, said):
    good = {"time": "t", "assessor": "a", "query_id": "q", "doc_id": "d", "grade": 1}
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**good, **change})}\n")
    with pytest.raises(BenchError, match=rf"log.jsonl:2: not a judgement .*{said}"):
        read_log(path)


def test_a_log_may_begin_with_a_byte_order_mark_and_must_hold_something(tmp_path):
    path = tmp_path / "log.jsonl"
    good = {"time": "t", "assessor": "a", "query_id": "q", "doc_id": "d", "grade": 1}
    path.write_text(json.dumps(good), encoding="utf-8-sig")
    assert [one.doc_id for one in read_log(path)] == ["d"]
    path.write_text("\n")
    with pytest.raises(BenchError, match="it holds no judgement"):
        read_log(path)


def test_where_a_log_and_its_collection_part_is_counted():
    collection = made({"a": "x", "b": "y", "c": "z"}, {"q": "1"}, {"q": {"a": 1, "b": 2, "c": 0}})
    log = [reading("x", "q", "a", 1), reading("x", "q", "b", 1), reading("y", "p", "a", 1)]
    log += [reading("y", "q", "gone", 1)]
    assert list(departures(log, collection)) == [
        "the log judges 1 queries that c does not have: p",
        "the log judges 1 documents that c does not have: gone",
        "1 judged pairs stand in no reading of the log: q / c",
        "1 judged pairs have a grade that no reading gave: q / b",
    ]
    fitting = [
        reading("x", "q", "a", 0),
        *(reading("y", "q", d, g) for d, g in [("a", 1), ("b", 2), ("c", 0)]),
    ]
    assert list(departures(fitting, collection)) == []
