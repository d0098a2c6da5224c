"""Faults of a collection's files: every problem at once with its line; what is allowed, silently or with a note."""

import gzip
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import bench, copy_of_tiny, on, replace_in

from bench.errors import BenchError
from bench.loading import BeirFolder, parts_tsv, qrels_tsv
from bench.qrels import Qrels


@pytest.fixture
def tiny(in_folder):
    return copy_of_tiny(in_folder)


def load(folder, **settings):
    return BeirFolder(path=str(folder), **settings).load()


def problems(folder, **settings):
    """The lines of the message, without the folder before the names of the files."""
    with pytest.raises(BenchError) as caught:
        load(folder, **settings)
    return [line.strip().removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def append(file, *lines):
    file.write_text(file.read_text() + "".join(f"{line}\n" for line in lines))


def grades(collection):
    qrels = collection.qrels
    return dict(zip(zip(qrels.query_ids, qrels.doc_ids, strict=True), qrels.grades.tolist(), strict=True))


def test_all_problems_of_all_files_are_told_at_once_each_with_its_line(tiny):
    append(
        tiny / "corpus.jsonl",
        '{"_id": "horario", "text": "Otra vez."}',
        '{"_id": "sin-texto", "title": "Nada"}',
        '{"text": "Sin nombre."}',
        '{"_id": "cortado", "text": "Los envíos',
        '["una", "lista"]',
        '{"_id": "x", "text": "x", "title": 7}',
        '{"_id": "y", "text": "y", "metadata": "topic"}',
        '{"_id": "z", "text": "half \\ud83d"}',
    )
    append(tiny / "queries.jsonl", '{"_id": "q1", "text": "¿Otra vez?"}', '{"_id": "  ", "text": "¿quién?"}')
    append(
        tiny / "qrels" / "test.tsv",
        "q1\thorario",
        "q1\t0\thorario\t1",
        "q1\thorario\thigh",
        "q1\thorario\tnan",
        "q1\tdevolver-base\t2",
        "q1\t\t2",
        "\thorario\t2",
        "q1 horario 2",
    )

    assert problems(tiny)[1:] == [
        "corpus.jsonl:13: id 'horario' stands already on line 9",
        "corpus.jsonl:14: it has no text",
        "corpus.jsonl:15: it has no _id",
        "corpus.jsonl:16: not JSON: Unterminated string starting at at column 28",
        "corpus.jsonl:17: not a JSON object",
        "corpus.jsonl:18: its title is no text",
        "corpus.jsonl:19: its metadata is no JSON object",
        "corpus.jsonl:20: it holds half of a surrogate pair, which is no character",
        "queries.jsonl:10: id 'q1' stands already on line 1",
        "queries.jsonl:11: it has no _id",
        "qrels/test.tsv:18: 2 columns, not 3 columns separated by tabs (query-id, corpus-id, score)",
        "qrels/test.tsv:19: 4 columns, not 3 columns separated by tabs (query-id, corpus-id, score)",
        "qrels/test.tsv:20: 'high' is no grade",
        "qrels/test.tsv:21: 'nan' is no grade",
        "qrels/test.tsv:22: q1 / devolver-base has grade 2 here and another on line 3",
        "qrels/test.tsv:23: no corpus-id",
        "qrels/test.tsv:24: no query-id",
        "qrels/test.tsv:25: 1 columns, not 3 columns separated by tabs (query-id, corpus-id, score)",
    ]
    assert problems(tiny)[0] == f"collection {tiny} has 18 problems:"


def test_of_very_many_problems_the_first_are_shown_and_the_rest_counted(tiny):
    append(tiny / "corpus.jsonl", *["broken"] * 30)

    assert problems(tiny)[0] == f"collection {tiny} has 30 problems:"
    assert problems(tiny)[-1] == "and 10 more"
    assert len(problems(tiny)) == 22


def test_a_run_on_faulty_files_is_refused_before_anything_is_written(tiny, in_folder):
    append(tiny / "corpus.jsonl", "broken")

    answer = bench("retriever=bm25", on=on(tiny))

    assert answer.code == 2
    assert "corpus.jsonl:13: not JSON" in answer.err
    assert {path.name for path in in_folder.iterdir()} == {"tiny"}


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(tiny, file):
    (tiny / file).unlink()

    assert problems(tiny)[1:] == [f"{file}: the file is missing (it may also end in .gz)"]


def test_all_missing_files_are_named_and_a_missing_folder(tmp_path):
    assert len(problems(tmp_path)) == 1 + 3
    with pytest.raises(BenchError, match=r"collection\.path: there is no folder .*/nowhere"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(BenchError, match="there is no folder"):
        load(tmp_path / "file")


@pytest.mark.parametrize(("file", "missing"), [("corpus.jsonl", "documents"), ("queries.jsonl", "queries")])
def test_an_empty_file_is_refused(tiny, file, missing):
    (tiny / file).write_text("\n\n")

    assert problems(tiny)[1].endswith(f"it holds no {missing}")


def test_without_any_judgement_nothing_can_be_measured(tiny):
    (tiny / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n")
    (tiny / "qrels" / "parts.tsv").unlink()

    answer = bench("retriever=bm25", on=on(tiny))

    assert answer.code == 1
    assert "there is no judgement, so nothing can be measured" in answer.err


def test_another_split_is_another_file(tiny):
    (tiny / "qrels" / "test.tsv").rename(tiny / "qrels" / "dev.tsv")

    assert len(load(tiny, split="dev").qrels) == 16
    assert problems(tiny)[1].startswith("qrels/test.tsv: the file is missing")


def test_gzip_byte_order_marks_windows_line_ends_and_blank_lines_change_nothing(tiny):
    plain = load(tiny)
    for file in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        lines = (tiny / file).read_text().splitlines()
        (tiny / f"{file}.gz").write_bytes(gzip.compress(("\ufeff" + "\r\n\r\n".join(lines)).encode()))
        (tiny / file).unlink()

    zipped = load(tiny)

    assert zipped.corpus_digest == plain.corpus_digest
    assert zipped.queries_digest == plain.queries_digest
    assert zipped.qrels_digest == plain.qrels_digest


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-20], lambda data: b"no gzip", lambda data: data[:30] + b"\xff" * 60 + data[90:]],
)
def test_a_damaged_gzip_file_is_named(tiny, damage):
    data = gzip.compress((tiny / "corpus.jsonl").read_bytes())
    (tiny / "corpus.jsonl.gz").write_bytes(damage(data))
    (tiny / "corpus.jsonl").unlink()

    assert any(line.startswith("corpus.jsonl.gz: cannot be read to its end: ") for line in problems(tiny))


def test_a_file_that_is_not_utf8_is_told_with_line_and_byte(tiny):
    text = (tiny / "corpus.jsonl").read_text()
    (tiny / "corpus.jsonl").write_bytes(text.encode("latin-1", "replace"))

    first = problems(tiny)[1]
    assert first.startswith("corpus.jsonl:1: not UTF-8: ")
    assert f"at byte {text.index('í')}; save the file as UTF-8" in first


def test_the_order_of_files_and_an_absent_header_change_nothing(tiny):
    before = load(tiny)
    for file in ("corpus.jsonl", "queries.jsonl"):
        lines = (tiny / file).read_text().splitlines()
        (tiny / file).write_text("\n".join(reversed(lines)))
    header, *rows = (tiny / "qrels" / "test.tsv").read_text().splitlines()
    (tiny / "qrels" / "test.tsv").write_text("\n".join(reversed(rows)))

    after = load(tiny)

    assert header.startswith("query-id")
    assert (after.docs, after.queries) == (before.docs, before.queries)
    assert after.qrels_digest == before.qrels_digest


def test_another_need_asks_for_no_new_search_and_yet_for_new_figures(tiny):
    before = load(tiny)
    queries = [json.loads(line) for line in (tiny / "queries.jsonl").read_text().splitlines()]
    queries[0].setdefault("metadata", {})["need"] = "shared with nobody before"
    (tiny / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))

    after = load(tiny)

    assert (after.corpus_digest, after.queries_digest) == (before.corpus_digest, before.queries_digest)
    assert after.qrels_digest != before.qrels_digest


def test_a_pair_may_be_judged_twice_alike(tiny):
    before = load(tiny)
    append(tiny / "qrels" / "test.tsv", "q1\tdevolver-base\t1", "q1\tdevolver-base\t1.0")

    assert load(tiny).qrels_digest == before.qrels_digest


def test_fractional_and_negative_grades_are_kept(tiny):
    append(tiny / "qrels" / "test.tsv", "q7\tregalo\t0.9", "q7\tgarantia\t-1")

    assert grades(load(tiny))["q7", "regalo"] == 0.9
    assert grades(load(tiny))["q7", "garantia"] == -1


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 4))
def test_judgements_written_and_read_again_are_the_same(tmp_path_factory, fraction, whole):
    folder = copy_of_tiny(tmp_path_factory.mktemp("written"))
    qrels = Qrels.of(
        {"q1": {"regalo": fraction, "horario": whole, "factura": 2}},
        parts={"q1": {"all": ["factura"], "lost": []}},
    )
    (folder / "qrels" / "test.tsv").write_text(qrels_tsv(qrels))
    (folder / "qrels" / "parts.tsv").write_text(parts_tsv(qrels))

    again = load(folder).qrels
    assert (again.by_query, again.parts) == (qrels.by_query, qrels.parts)


def test_ids_are_texts_whatever_the_file_says(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": 12, "text": "a"}\n{"id": "007", "text": "b"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": 12, "text": "a"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("12\t12\t1\n12\t007\t0\n")

    collection = load(tmp_path)

    assert list(collection.doc_ids) == ["12", "007"]
    assert grades(collection) == {("12", "12"): 1, ("12", "007"): 0}


def test_a_number_and_the_text_of_it_are_one_id_and_refused_as_two(tmp_path, tiny):
    append(tiny / "corpus.jsonl", '{"_id": 12, "text": "a"}', '{"_id": "12", "text": "b"}')

    assert problems(tiny)[1:] == ["corpus.jsonl:14: id '12' stands already on line 13"]


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("null", "it has no _id"),
        ('""', "it has no _id"),
        ('" "', "it has no _id"),
        ("true", "its _id true is no text and no whole number"),
        ("2.0", "its _id 2.0 is no text and no whole number"),
        ("[]", "its _id [] is no text and no whole number"),
        ('" horario"', "its _id ' horario' has blanks at its ends, which ids in judgements lose"),
    ],
)
def test_what_is_no_id_is_refused(tiny, identifier, said):
    append(tiny / "corpus.jsonl", f'{{"_id": {identifier}, "text": "a"}}')

    assert problems(tiny)[1:] == [f"corpus.jsonl:13: {said}"]


@pytest.mark.parametrize(
    ("value", "said"), [("9" * 5000, "5000 digits"), ("[" * 100_000 + "]" * 100_000, "recursion")]
)
def test_json_that_python_does_not_read_is_told_with_its_line(tiny, value, said):
    append(tiny / "corpus.jsonl", f'{{"_id": "huge", "text": "a", "metadata": {{"n": {value}}}}}')

    (problem,) = problems(tiny)[1:]
    assert problem.startswith("corpus.jsonl:13: ")
    assert said in problem


@pytest.mark.parametrize("grade", ["1_0", "١", "１"])
def test_a_grade_is_written_in_plain_digits(tiny, grade):
    append(tiny / "qrels" / "test.tsv", f"q1\thorario\t{grade}")

    assert f"'{grade}' is no grade" in problems(tiny)[-1]


def test_ids_with_blanks_inside_are_kept(tiny):
    replace_in(tiny / "corpus.jsonl", '"_id": "horario"', '"_id": "horario de tiendas"')
    replace_in(tiny / "qrels" / "test.tsv", "q9\thorario", "q9\thorario de tiendas")

    assert grades(load(tiny))["q9", "horario de tiendas"] == 2


class TestJudgementsOfWhatDoesNotExist:
    @pytest.fixture(autouse=True)
    def strangers(self, tiny):
        append(tiny / "qrels" / "test.tsv", "q1\tgone-1\t2", "q4\tgone-1\t0", "q77\thorario\t1")

    def test_they_are_an_error_that_counts_and_names_them_and_the_setting(self, tiny):
        (message,) = problems(tiny)
        assert "the judgements name 2 ids that do not exist (query q77, document gone-1)" in message
        assert "collection.unknown=keep" in message
        assert "collection.unknown=drop" in message

    def test_kept_ones_count_among_the_relevant_and_nothing_can_find_them(self, tiny):
        collection = load(tiny, unknown="keep")
        assert grades(collection)["q1", "gone-1"] == 2
        assert "gone-1" not in list(collection.doc_ids)

        bench("retriever=bm25", "k=10", "collection.unknown=keep", on=on(tiny))
        bench("retriever=bm25", "k=10", "collection.unknown=drop", "name=dropped", on=on(tiny))
        kept, dropped = recall_of("q1", "default"), recall_of("q1", "dropped")
        assert kept == pytest.approx(dropped * 2 / 3)

    def test_dropped_ones_are_as_if_never_written(self, tiny):
        collection = load(tiny, unknown="drop")
        assert len(collection.qrels) == 16
        assert "q77" not in collection.qrels.judged_queries

    def test_a_dropped_document_leaves_the_parts_too(self, tiny):
        append(tiny / "qrels" / "parts.tsv", "q1\tbase\tgone-1", "q1\tbase\tdevolver-base")

        assert load(tiny, unknown="drop").qrels.parts["q1"] == {"base": ("devolver-base",)}
        assert load(tiny, unknown="keep").qrels.parts["q1"] == {"base": ("gone-1", "devolver-base")}

    def test_a_part_that_loses_its_last_document_stays_and_is_told(self, tiny):
        append(tiny / "qrels" / "parts.tsv", "q1\tbase\tdevolver-base", "q1\tmore\tgone-1")

        collection = load(tiny, unknown="drop")
        assert collection.qrels.parts["q1"] == {"base": ("devolver-base",), "more": ()}
        assert any("a part of the answer that no judged document covers" in note for note in collection.notes)


def recall_of(query, name):
    frame = pd.read_parquet(f"outputs/{name}/per_query.parquet")
    return frame.loc[frame["query_id"] == query, "recall"].item()


def test_a_document_that_covers_a_part_must_be_relevant(tiny):
    append(
        tiny / "qrels" / "parts.tsv",
        "q3\ttime\tenvio-peninsula",
        "q3\tcost\thorario",
        "q88\tcost\thorario",
        "q3\tcost",
    )

    assert problems(tiny)[1:] == [
        "qrels/parts.tsv:4: envio-peninsula covers a part of q3 and is not judged relevant to it",
        "qrels/parts.tsv:5: horario covers a part of q3 and is not judged relevant to it",
        "qrels/parts.tsv:6: horario covers a part of q88 and is not judged relevant to it",
        "qrels/parts.tsv:7: 2 columns, not 3 columns separated by tabs (query-id, part, corpus-id)",
    ]


def test_parts_may_be_gzipped_and_of_two_files_the_plain_one_is_read_and_noted(tiny):
    plain = load(tiny)
    file = tiny / "qrels" / "parts.tsv"
    file.with_name("parts.tsv.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    assert load(tiny).qrels.parts == plain.qrels.parts != {}
    assert load(tiny).notes == plain.notes

    (tiny / "corpus.jsonl.gz").write_bytes(gzip.compress(b"broken"))
    told = f"corpus.jsonl and corpus.jsonl.gz both stand in {tiny}; corpus.jsonl is read"
    assert load(tiny).notes == (told, *plain.notes)


def test_a_collection_without_parts_is_one(tiny):
    (tiny / "qrels" / "parts.tsv").unlink()

    assert load(tiny).qrels.parts == {}


def test_what_is_odd_but_allowed_is_noted(tiny):
    append(
        tiny / "corpus.jsonl",
        '{"_id": "void", "text": " "}',
        '{"_id": "twin", "text": "Hay tiendas en Madrid, Sevilla y Bilbao.", "title": "Tiendas"}',
    )
    append(tiny / "queries.jsonl", '{"_id": "q10", "text": ""}')

    assert load(tiny).notes == (
        "1 documents without text: void",
        "1 documents repeat the text of another: twin (tiendas)",
        "1 queries without text: q10",
        "1 of 10 queries have no judgement and are left out of every mean",
    )


def test_empty_texts_run_through_every_retriever(tiny):
    append(tiny / "corpus.jsonl", '{"_id": "void", "text": ""}')
    append(tiny / "queries.jsonl", '{"_id": "q10", "text": " "}')
    append(tiny / "qrels" / "test.tsv", "q10\tvoid\t1")

    answer = bench("-m", "retriever=bm25,faiss,hybrid", "reranker=none,overlap", "k=5", on=on(tiny))

    assert answer.code == 0, answer.err


def test_a_folder_and_a_collection_may_be_named_by_digits(tiny, in_folder):
    tiny.rename(in_folder / "2024")

    answer = bench(
        "retriever=bm25", "collection=beir", "collection.path=2024", "collection.name=7", on=("timing=off",)
    )

    assert answer.code == 0, answer.err
    assert "7: 8 queries" in answer.out


@pytest.mark.parametrize("limit", [0, -1, 1.5, "two"])
def test_a_limit_counts_queries(limit):
    with pytest.raises(BenchError, match=r"collection\.limit is .*; it counts queries, at least 1"):
        BeirFolder(path="x", limit=limit)


def test_a_title_is_read_before_the_text(tmp_path, tiny):
    record = json.loads((tiny / "corpus.jsonl").read_text().splitlines()[0])
    doc = next(doc for doc in load(tiny).docs if doc.id == "devolver-base")

    assert doc.contents == f"{record['title']} {record['text']}"
