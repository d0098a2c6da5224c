"""The data verbs: what is checked and audited is the collection as it is now, and as it is asked for."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.program import bench, copy_of_tiny

from bench.errors import BenchError
from bench.verbs import data as inspection
from bench.verbs.data import audit, check, data, loaded, pool

POOL = (
    ["retriever=bm25"],
    ["retriever=dense", "store=exact", "embedder=hashing"],
)


@pytest.fixture
def tiny(in_folder, monkeypatch):
    """A copy of the tiny collection with a log of judgements, audited by systems without a model."""
    monkeypatch.setattr(inspection, "pool", lambda: [*map(list, POOL)])
    folder = copy_of_tiny(in_folder)
    rows = [line.split("\t") for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]]
    with (folder / "judgements.jsonl").open("w") as log:
        for assessor in ("ana", "blas"):
            for query, doc, grade in rows:
                row = {"assessor": assessor, "query_id": query, "doc_id": doc, "grade": float(grade)}
                log.write(json.dumps({"time": "2026-01-01", **row}) + "\n")
    return folder


def scores(told: list[str]) -> dict[str, str]:
    """The nDCG@5 of each system as the audit tells it."""
    return {found[1]: found[2] for line in told if (found := re.match(r"(\S+) +(0\.\d{4}) +\d+ ", line))}


def test_an_audit_after_a_changed_chunk_reads_the_new_run(tiny, monkeypatch):
    monkeypatch.setattr(inspection, "pool", lambda: [["retriever=bm25"]])
    before = scores(list(audit(str(tiny), [])))
    corpus = tiny / "corpus.jsonl"
    chunks = [{**json.loads(line), "title": "", "text": "nada"} for line in corpus.read_text().splitlines()]
    corpus.write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks))

    after = scores(list(audit(str(tiny), [])))

    assert before["bm25"] > "0.5"
    assert after == {"bm25": "0.0000"}


def test_an_audit_does_what_the_settings_ask(tiny, monkeypatch):
    monkeypatch.setattr(inspection, "pool", lambda: [["retriever=bm25"]])
    told = list(audit(str(tiny), ["split=dev", "bm25.k1=0.5"]))

    assert told[0].startswith("tiny-dev: ")
    assert set(scores(told)) == {"bm25(k1=0.5)"}
    assert loaded(str(tiny), ["collection.limit=4", "stress=upper"]).name == "tiny~upper"


def test_whoever_has_judged_last_is_laid_beside_whoever_came_before(tiny):
    answer = bench("data", "audit", str(tiny), on=())
    told = answer.out.splitlines()

    assert answer.code == 0, answer.err
    assert "nDCG@5 and rank, then without the judgements that only this system's top 10 brought" in told
    assert any(line.startswith("ana and blas: ") and "1.000 alike" in line for line in told)
    assert [line for line in told if line.startswith("systems under")] == [
        f"systems under {way}: tau 1.000 with ana; verdicts that change: none"
        for way in ("blas", "the higher of the two", "the lower of the two")
    ]


def test_a_system_that_cannot_be_had_ends_the_audit_with_its_reason(tiny, monkeypatch):
    monkeypatch.setattr(inspection, "pool", lambda: [["retriever=bm25", "stress=tu_usted_vos"]])
    with pytest.raises(BenchError, match="tu_usted_vos"):
        list(audit(str(tiny), ["collection.language=en"]))


def test_without_a_log_there_is_nothing_to_audit(tiny):
    (tiny / "judgements.jsonl").unlink()
    with pytest.raises(BenchError, match=r"tiny has no log of judgements"):
        list(audit(str(tiny), []))


def test_a_wrong_request_is_explained(in_folder):
    with pytest.raises(BenchError, match="it is `data check NAME_OR_FOLDER`"):
        data(["chek"])
    with pytest.raises(BenchError, match=r"data check: of which collection"):
        data(["check"])
    with pytest.raises(BenchError, match=r"'aurara' is no collection and no folder; did you mean 'aurora'"):
        data(["check", "aurara"])
    with pytest.raises(BenchError, match=r"collection.limt.*did you mean 'collection.limit'"):
        data(["check", "aurora", "collection.limt=3"])


def test_what_a_verb_does_not_read_is_refused(tiny):
    for words, told in {
        "A": "'A' cannot be understood: a setting is given as key=value",
        "--foo": "'--foo' cannot be understood",
        "k=[": r"'k=\[' cannot be understood: brackets and quotes must be closed",
        "retriever=bm25": "data check runs no system, so retriever changes nothing; it reads collection, split",
        "bm25.k1=2": "data check runs no system, so bm25 changes nothing",
        "k=0": "k is a whole number from 1",
    }.items():
        with pytest.raises(BenchError, match=told):
            data(["check", str(tiny), words])
    with pytest.raises(BenchError, match="data audit: it measures at k=5; leave out k="):
        data(["audit", str(tiny), "k=3"])


def test_a_check_is_made_at_the_k_that_are_asked_for_and_says_which_are_too_many(tiny):
    told = list(check(str(tiny), ["k=[2,50]"]))
    assert "- k=50 is more than its 12 documents" in told
    assert [line.split()[0] for line in told if line.startswith("     ")] == ["k", "2"]
    assert list(check(str(tiny), ["k=50"]))[-1] == "- k=50 is more than its 12 documents"


@pytest.mark.parametrize("grade", ["0", None])
def test_a_check_of_judgements_that_find_nothing_relevant_says_so(grade, tiny, recwarn):
    (tiny / "qrels" / "parts.tsv").unlink()
    rows = [line.split("\t") for line in (tiny / "qrels" / "test.tsv").read_text().splitlines()]
    judged = [rows[0], *([query, doc, grade] for query, doc, _ in rows[1:] if grade)]
    (tiny / "qrels" / "test.tsv").write_text("".join("\t".join(row) + "\n" for row in judged))

    told = list(check(str(tiny), []))
    ran = bench("retriever=bm25", f"collection.path={tiny}")

    assert told[-1] == "- no query has a relevant document, so there is nothing to measure"
    assert not any("nan" in line for line in told)
    assert ran.code == (0 if grade else 1)
    assert (
        "there is nothing to measure" if grade else "failed: bm25 on tiny: there is no judgement"
    ) in ran.err
    assert "Traceback" not in ran.err
    assert not recwarn.list


def test_a_collection_with_a_blank_in_its_name_is_audited(tiny, monkeypatch):
    monkeypatch.setattr(inspection, "pool", lambda: [["retriever=bm25"]])
    tiny.rename(tiny.parent / "mi colección")

    assert set(scores(list(audit("mi colección", [])))) == {"bm25"}


def test_a_check_tells_each_oddity_once(tiny):
    corpus = tiny / "corpus.jsonl"
    first = json.loads(corpus.read_text().splitlines()[0])
    with corpus.open("a") as more:
        more.write(json.dumps({**first, "_id": "otra"}) + "\n")
    with (tiny / "queries.jsonl").open("a") as more:
        more.write(json.dumps({"_id": "sola", "text": "¿y esto?"}) + "\n")

    told = list(check(str(tiny), []))

    assert sum("with one text" in line or "the text" in line or "the same" in line for line in told) == 1
    assert any(line.endswith("repeat the text of another: otra (devolver-base)") for line in told)
    assert sum("not judged" in line or "no judgement" in line for line in told) == 1


def test_every_system_of_the_pool_says_all_that_makes_it():
    for system in pool():
        groups = {word.split("=")[0] for word in system}
        assert "retriever" in groups
        if "retriever=bm25" not in system:
            assert {"store", "embedder"} <= groups
        if "retriever=hybrid" in system:
            assert {"analyzer", "fusion"} <= groups
