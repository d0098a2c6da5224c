"""Judgements and runs from files: every mess that real files are in, and nothing lost or misread in silence."""

from __future__ import annotations

import gzip
import json
import math
import unicodedata
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import COLLECTIONS, make_qrels, make_run

from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.lines import Problems, plain
from bench.metrics import MEASURES
from bench.reading import read_hits, read_qrels, read_run
from bench.reading.columns import careful_pairs, pairs_by_line, quick_pairs
from bench.reading.forms import form_of
from bench.reading.oddities import differing_in_form
from bench.reading.pairs import HITS, JUDGEMENTS

NIST = COLLECTIONS / "trec_eval_tests" / "test"


@pytest.fixture
def file(tmp_path):
    """Write a file, of text or bytes, and give its path."""

    def write(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def judged(file):
    """The judgements and notes of a file of this content."""

    def read(content, name="file"):
        found = read_qrels(file(content, name))
        return found.qrels.by_query, found.notes

    return read


@pytest.fixture
def ranked(file):
    """The scores by query and document of a run of this content, and the notes."""

    def read(content, name="file", **settings):
        found = read_run(file(content, name), **settings)
        return scores_of(found.run), found.notes

    return read


def scores_of(run):
    return {
        query: {run.docs[int(row)]: score for row, score in zip(rows, scores, strict=True) if row >= 0}
        for query, rows, scores in zip(run.queries, run.rows, run.scores.tolist(), strict=True)
    }


def problems_of(read, path, **settings):
    """The lines of the message, without the name of the file."""
    with pytest.raises(BenchError) as raised:
        read(path, **settings)
    return [line.strip().removeprefix(f"{path}").lstrip(":") for line in str(raised.value).splitlines()]


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


JUDGED = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"c": 1.0}}
PAIRS = [("q1", "a", 2.0), ("q1", "b", 0.0), ("q2", "c", 1.0)]
TREC = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
BEIR = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tc\t1\n"
RANKED = {"q1": {"b": 2.5, "a": 1.0}, "q2": {"c": -3.0}}
RUN = "q1 Q0 b 1 2.5 tag\nq1 Q0 a 2 1 tag\nq2 Q0 c 1 -3e0 tag\n"
RECORDS = [("q1", "b", 2.5), ("q1", "a", 1.0), ("q2", "c", -3.0)]


class TestForms:
    @pytest.mark.parametrize(
        "content",
        [
            TREC,
            BEIR,
            BEIR.split("\n", 1)[1],
            json.dumps(JUDGED),
            json.dumps(JUDGED, indent=2),
            json.dumps([{"query_id": q, "doc_id": d, "relevance": grade} for q, d, grade in PAIRS]),
            "\n".join(json.dumps({"query-id": q, "corpus-id": d, "score": grade}) for q, d, grade in PAIRS),
            "\n".join(json.dumps({q: ds}) for q, ds in JUDGED.items()),
            parquet(query_id=["q1", "q1", "q2"], doc_id=["a", "b", "c"], relevance=[2, 0, 1]),
            parquet(
                **{"query-id": ["q1", "q1", "q2"], "corpus-id": ["a", "b", "c"], "score": [2.0, 0.0, 1.0]}
            ),
        ],
    )
    def test_judgements_are_the_same_in_every_form_zipped_or_not_whatever_the_name(self, judged, content):
        packed = gzip.compress(content if isinstance(content, bytes) else content.encode())
        assert (
            judged(content) == judged(content, "qrels.txt.gz.old") == judged(packed, "qrels") == (JUDGED, ())
        )

    @pytest.mark.parametrize(
        "content",
        [
            RUN,
            json.dumps(RANKED),
            json.dumps([dict(zip(("query_id", "doc_id", "score"), row, strict=True)) for row in RECORDS]),
            "\n".join(json.dumps(dict(zip(("qid", "docno", "score"), row, strict=True))) for row in RECORDS),
            parquet(
                query_id=["q1", "q1", "q2"], doc_id=["b", "a", "c"], rank=[1, 2, 1], score=[2.5, 1.0, -3.0]
            ),
        ],
        ids=["trec", "nested", "list", "lines", "parquet"],
    )
    def test_runs_are_the_same_in_every_form_zipped_or_not_whatever_the_name(self, ranked, content):
        packed = gzip.compress(content if isinstance(content, bytes) else content.encode())
        assert ranked(content) == ranked(content, "run.json") == ranked(packed, "run") == (RANKED, ())

    def test_a_run_of_ours_is_read_back_from_parquet(self, file):
        run = make_run({"q1": ["b", "a"], "q2": {"c": 1 / 3}}).as_stage("first")
        sink = pa.BufferOutputStream()
        pq.write_table(run.to_table(), sink, compression="zstd")
        again = read_run(file(sink.getvalue().to_pybytes()))
        assert (scores_of(again.run), again.notes) == (scores_of(run), ())

    def test_names_of_columns_may_stand_in_any_order(self, judged, ranked):
        assert (
            judged("relevance\tdoc_id\tcomment\tquery_id\n2\ta\tx y\tq1\n0\tb\t\tq1\n1\tc\t\tq2\n")[0]
            == JUDGED
        )
        assert ranked("qid docno rank score\nq1 b 1 2.5\nq1 a 2 1\nq2 c 1 -3\n")[0] == RANKED

    def test_files_of_nist_are_read(self):
        plain, remarked = (read_qrels(NIST / name) for name in ("qrels.test", "qrels.test.with-comments"))
        assert (len(plain.qrels), plain.notes) == (3681, ())
        assert (len(remarked.qrels), remarked.notes) == (3681, ("3 comment lines (#) passed over",))
        assert {*remarked.qrels.doc_ids} - {*plain.qrels.doc_ids} == {"CR#93E-1860"}
        assert read_run(NIST / "results.test").notes == ()

    def test_words_behind_the_tag_of_a_run_are_passed_over(self):
        trunc = (NIST / "results.trunc").read_text()
        assert "STANDARD more junk at" in trunc
        assert sum(map(len, scores_of(read_run(NIST / "results.trunc").run).values())) == len(
            trunc.splitlines()
        )


class TestText:
    @pytest.mark.parametrize(
        "mess",
        [
            lambda text: "\ufeff" + text,
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text.replace("\n", "\r"),
            lambda text: text.rstrip("\n"),
            lambda text: "\n\n" + text.replace("\n", "\n  \n\t\n"),
            lambda text: text.replace(" ", "   "),
            lambda text: text.replace(" ", "\t"),
            lambda text: text.replace(" ", "\t\t"),
            lambda text: text.replace(" ", " \t "),
            lambda text: text.replace("\n", " \n\t "),
            lambda text: text.replace("\n", "\t\r\n"),
            lambda text: text.encode("utf-16"),
            lambda text: text.replace("q2", "\ufeffq2")[:-1].replace("\ufeff", "") + "\n",
        ],
    )
    def test_line_ends_blanks_tabs_and_marks_change_nothing(self, judged, ranked, mess):
        assert judged(mess(TREC)) == (JUDGED, ())
        assert ranked(mess(RUN)) == (RANKED, ())

    def test_comments_are_passed_over_and_counted(self, judged, ranked):
        text = "# made by hand\nq1 0 a 2\n  # q1 0 b 1\nq1 0 b 0\n#q1 0 c 1\n#\nq2 0 c 1\n"
        assert judged(text) == (JUDGED, ("4 comment lines (#) passed over",))
        assert ranked("# a run\n" + RUN + "#q1 Q0 c 3 0.5 tag\n") == (
            RANKED,
            ("2 comment lines (#) passed over",),
        )

    def test_an_id_may_begin_like_a_comment_where_tabs_make_the_columns(self, judged):
        grades, (note,) = judged("#one\ta\t1\n# a remark\n#two\ta\t1\n".replace("# a remark\n", ""))
        assert grades == {"#one": {"a": 1.0}, "#two": {"a": 1.0}}
        assert note == "2 query ids begin with #, as comments do: '#one'; they were read as ids"
        assert judged("# a remark\nq\ta\t1\n") == ({"q": {"a": 1.0}}, ("1 comment lines (#) passed over",))

    def test_ids_with_blanks_are_kept_where_tabs_make_the_columns(self, judged, ranked):
        assert judged("q 1\tmy doc\t1\nq 1\tyours\t0\n")[0] == {"q 1": {"my doc": 1.0, "yours": 0.0}}
        assert judged("q 1\t0\tmy doc\t1\n")[0] == {"q 1": {"my doc": 1.0}}
        assert ranked("q 1\tQ0\tmy doc\t1\t2.0\ttag\n")[0] == {"q 1": {"my doc": 2.0}}

    @pytest.mark.parametrize("line", ["q1 Q0 my doc 1 0.5 tag", "q1 Q0 my 7 1 0.5 tag", "q1 Q0 my doc 1 0.5"])
    def test_an_id_with_a_blank_is_not_taken_for_two_columns(self, file, line):
        (_, said) = problems_of(read_run, file(f"{RUN}{line}\n"))[:2]
        assert said.startswith("4: rank ")
        assert said.endswith("an id may hold a blank")

    def test_ids_are_texts_and_zeros_before_them_count(self, judged):
        assert judged("1 0 12 1\n1 0 012 0\n01 0 12 1\n")[0] == {
            "1": {"12": 1.0, "012": 0.0},
            "01": {"12": 1.0},
        }

    def test_a_header_may_come_again_where_files_were_joined(self, judged):
        assert judged(BEIR.split("q2")[0] + "query-id\tcorpus-id\tscore\nq2\tc\t1\n") == (JUDGED, ())

    def test_quotes_are_part_of_an_id(self, judged):
        assert judged('q1 0 "a 1\nq1 0 b" 1\n')[0] == {"q1": {'"a': 1.0, 'b"': 1.0}}

    def test_fractions_and_negative_grades_are_kept_to_the_last_digit(self, judged):
        third = 1 / 3
        assert judged(f"q 0 a 0.9\nq 0 b -2\nq 0 c {third!r}\nq 0 d 1e-3\nq 0 e +1\n")[0]["q"] == {
            "a": 0.9, "b": -2.0, "c": third, "d": 0.001, "e": 1.0,
        }  # fmt: skip

    def test_scores_are_double_precision_and_infinities_have_their_place(self, ranked):
        text = "q Q0 a 3 0.30000001192092896 t\nq Q0 b 4 0.3 t\nq Q0 c 1 inf t\nq Q0 d 5 -Infinity t\n"
        found = ranked(text)[0]["q"]
        assert list(found.items()) == [
            ("c", math.inf),
            ("a", 0.30000001192092896),
            ("b", 0.3),
            ("d", -math.inf),
        ]

    def test_every_broken_line_is_told_at_once(self, file):
        text = "q1 0 a 1\nq1 0 b\n\nq1 0 c high\nq1 0 d nan\nq1 0 e inf\nq1 0 f 1_0\nq1 0 a 2\nq1 0 g 1 1\n"
        assert problems_of(read_qrels, file(text)) == [
            f"judgements {file(text)} has 7 problems:",
            "2: 3 columns, not 4 columns (query iteration document grade)",
            "4: 'high' is no grade",
            "5: 'nan' is no grade",
            "6: 'inf' is no grade",
            "7: '1_0' is no grade",
            "8: q1 / a has grade 2 here and another on line 1",
            "9: 5 columns, not 4 columns (query iteration document grade)",
        ]

    def test_of_very_many_broken_lines_the_first_are_shown(self, file):
        said = problems_of(read_run, file(RUN + "q1 Q0 x 1 high tag\n" * 300))
        assert said[0].endswith("has 300 problems:")
        assert said[-1] == "and 280 more"

    def test_an_empty_column_is_named(self, file):
        assert problems_of(read_qrels, file(BEIR + "q3\t\t1\n\td\t1\nq3\td\t\n"))[1:] == [
            "5: no corpus-id",
            "6: no query-id",
            "7: no score",
        ]

    def test_a_missing_column_is_not_made_up_for_by_two_blanks(self, file):
        assert problems_of(read_qrels, file(TREC + "q3  0 12\n"))[1].startswith("4: 3 columns")
        assert problems_of(read_run, file(RUN + "q1 Q0  3 1 tag\n"))[1].startswith("4: 5 columns")

    def test_lines_that_are_not_utf_8_are_told(self, file):
        said = problems_of(read_qrels, file(TREC.encode() + "q1 0 añil 1\n".encode("latin-1")))
        assert said[1].startswith("4: not UTF-8: invalid continuation byte at byte 6")


class TestRepetitions:
    def test_the_same_grade_twice_counts_once_and_is_noted(self, judged):
        grades, notes = judged(TREC + "q1 0 a 2\nq1 0 a 2.0\n")
        assert grades == JUDGED
        assert notes == ("2 judgements are repeated with the same grade; each counts once",)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (TREC + "\nq1 0 a 1\n", "5: q1 / a has grade 1 here and another on line 1"),
            (BEIR + "q1\ta\t1\n", "5: q1 / a has grade 1 here and another on line 2"),
            ('{"q1": {"a": 2, "b": 1, "a": 1}}', "q1 / a has grade 1 here and 2 too"),
            ('{"q1": {"a": 2}, "q1": {"a": 1}}', "q1 / a has grade 1 here and 2 too"),
            ('{"q1": {"a": 2}}\n{"q1": {"a": 1}}', "2: q1 / a has grade 1 here and another on line 1"),
            (
                parquet(query=["q1", "q1"], doc=["a", "a"], rel=[2, 1]),
                "row 2: q1 / a has grade 1 here and another on row 1",
            ),
        ],
    )
    def test_two_grades_for_one_pair_are_refused_naming_both_places(self, file, content, said):
        assert problems_of(read_qrels, file(content))[1].strip() == said

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (RUN + "q1 Q0 b 3 0.5 tag\n", "4: b stands in the ranking of q1 already, on line 1"),
            ('{"q1": {"b": 2, "a": 1, "b": 0}}', "b stands in the ranking of q1 twice"),
            (
                '[{"query_id": 1, "doc_id": 2, "score": 1}, {"query_id": "1", "doc_id": "2", "score": 0}]',
                "entry 2: 2 stands in the ranking of 1 already, on entry 1",
            ),
            (
                parquet(query_id=["q1", "q1"], doc_id=["a", "a"], score=[1.0, 1.0]),
                "row 2: a stands in the ranking of q1 already, on row 1",
            ),
        ],
    )
    def test_a_document_twice_in_a_ranking_is_refused_with_both_places_and_what_to_do(
        self, file, content, said
    ):
        found = problems_of(read_run, file(content))
        assert found[1].strip() == said
        assert "--duplicates keep-first" in found[2]

    def test_keeping_the_first_counts_the_others(self, ranked):
        found, notes = ranked(RUN + "q1 Q0 b 3 9.5 tag\nq1 Q0 b 4 0.1 tag\n", duplicates="keep-first")
        assert found == RANKED
        assert notes[0] == (
            "2 hits left out: documents that stand in their ranking already (the first was kept)"
        )

    def test_a_document_may_stand_in_many_rankings_and_be_named_as_its_query(self, ranked):
        text = "12 Q0 12 1 2 t\n12 Q0 x 2 1 t\n13 Q0 12 1 2 t\n"
        assert ranked(text) == ({"12": {"12": 2.0, "x": 1.0}, "13": {"12": 2.0}}, ())

    def test_what_repetitions_are_is_asked_in_two_words(self, file):
        with pytest.raises(BenchError, match="duplicates='drop': it can be refuse or keep-first"):
            read_run(file(RUN), duplicates="drop")

    def test_hits_may_be_read_as_they_stand(self, file):
        hits = read_hits(file(RUN + "q1 Q0 b 3 0.5 tag\n"))
        assert hits.schema.names == ["query_id", "doc_id", "score"]
        assert hits["doc_id"].to_pylist() == ["b", "a", "c", "b"]


class TestRanks:
    def test_scores_order_a_ranking_whatever_its_ranks_say_which_is_noted(self, ranked):
        found, notes = ranked("q Q0 a 1 0.5 t\nq Q0 b 2 0.9 t\np Q0 a 1 2 t\np Q0 b 2 1 t\n")
        assert list(found["q"]) == ["b", "a"]
        assert notes == ("the ranks of 1 of 2 queries disagree with their scores; scores order a ranking",)

    @pytest.mark.parametrize(
        "text",
        [
            "q Q0 b 2 1 t\nq Q0 a 1 2 t\n",
            "q Q0 a 0 2 t\nq Q0 b 1 1 t\n",
            "q Q0 a 1 2 t\np Q0 a 1 1 t\nq Q0 b 2 1 t\n",
            "q Q0 a 1 1 t\nq Q0 b 2 1 t\n",
            "q Q0 a 2 1 t\nq Q0 b 1 1 t\n",
            "q Q0 a 1 2 t\nq Q0 b 1 1 t\n",
            "q Q0 a 1.0 2 t\nq Q0 b 2.0 1 t\n",
        ],
    )
    def test_ranks_that_agree_however_they_count_are_no_matter(self, ranked, text):
        assert ranked(text)[1] == ()

    def test_ranks_that_are_no_numbers_are_counted(self, ranked):
        assert ranked("q Q0 a - 2 t\nq Q0 b - 1 t\n")[1] == (
            "2 ranks are no numbers; they were not looked at",
        )


class TestJson:
    def test_numbers_are_ids_as_their_texts(self, judged):
        text = '[{"query_id": 1, "doc_id": 12, "relevance": 1}, {"query_id": "1", "doc_id": "13", "relevance": "2"}]'
        assert judged(text) == ({"1": {"12": 1.0, "13": 2.0}}, ())

    def test_whole_numbers_with_a_point_are_ids_too_and_noted(self, judged):
        found, notes = judged('{"query_id": 1.0, "doc_id": 12.0, "relevance": 1}')
        assert (found, notes) == ({"1": {"12": 1.0}}, ("2 ids are numbers like 12.0, read as 12",))

    @pytest.mark.parametrize(
        ("record", "said"),
        [
            ('{"query_id": null, "doc_id": "a", "relevance": 1}', "no query id"),
            ('{"query_id": "q", "doc_id": null, "relevance": 1}', "no document id"),
            ('{"query_id": "q", "doc_id": " ", "relevance": 1}', '" " is no document id'),
            ('{"query_id": true, "doc_id": "a", "relevance": 1}', "true is no query id"),
            ('{"query_id": 1.5, "doc_id": "a", "relevance": 1}', "1.5 is no query id"),
            ('{"query_id": "q", "doc_id": "a", "relevance": null}', "q / a: no grade"),
            ('{"query_id": "q", "doc_id": "a", "relevance": true}', "q / a: true is no grade"),
            ('{"query_id": "q", "doc_id": "a", "relevance": "high"}', 'q / a: "high" is no grade'),
            ('{"query_id": "q", "doc_id": "a", "relevance": NaN}', "q / a: NaN is no grade"),
            ('{"query_id": "q", "doc_id": "a", "relevance": 1e999}', "q / a: Infinity is no grade"),
            (
                '{"query_id": "q", "document": "a"}',
                "an object with query_id, document; judgements are read as",
            ),
            ('["q", "a", 1]', '["q", "a", 1] is no object; judgements are read as'),
            ('{"query_id": "q"', "not JSON: Expecting ',' delimiter at column 17"),
            ('{"query_id": "\\ud83d", "doc_id": "a", "relevance": 1}', "not JSON: half of a surrogate pair"),
        ],
    )
    def test_what_is_wrong_with_a_line_is_told_with_its_number(self, file, record, said):
        good = '{"query_id": "q", "doc_id": "b", "relevance": 1}\n'
        found = problems_of(read_qrels, file(f"{good}\n{record}\n{good}"))
        assert found[1].startswith(f"3: {said}")

    def test_entries_of_a_list_are_told_by_their_number(self, file):
        found = problems_of(read_run, file('[{"query_id": "q", "doc_id": "a", "score": 1}, {"qid": "q"}, 3]'))
        assert found[1].strip().startswith("entry 2: an object with qid; runs are read as")
        assert found[2].strip().startswith("entry 3: 3 is no object")

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ('{"q": {"a": 1}', "1: not JSON: Expecting"),
            ('\n{"q": {\n"a": }}', "3: not JSON: Expecting value"),
            ("[" * 100_000, "1: not JSON: "),
            ('{"q": {"a": ' + "9" * 5000 + "}}", "1: not JSON: "),
            ('{"q": ["a", "b"]}', " an object with q; runs are read as"),
            ('{"q": {"a": {"score": 1}}}', ' q / a: [["score", 1]] is no score'),
            ("{}", " it holds no hit; runs are read as"),
            ('{"q": {}}', " it holds no hit; runs are read as"),
        ],
    )
    def test_what_is_no_run_is_told(self, file, content, said):
        assert problems_of(read_run, file(content))[1].startswith(said)

    def test_queries_that_hold_nothing_are_counted_and_touch_no_other(self, judged):
        assert judged('{"q1": {"a": 1}, "q2": {}, "q3": {"b": 1}}') == (
            {"q1": {"a": 1.0}, "q3": {"b": 1.0}},
            ("1 queries hold no judgement",),
        )

    def test_infinite_scores_are_scores(self, ranked):
        assert list(ranked('{"q": {"a": -Infinity, "b": 0, "c": Infinity}}')[0]["q"]) == ["c", "b", "a"]


class TestParquet:
    @pytest.mark.parametrize(
        "ids",
        [
            pa.array([1, 12], pa.int64()),
            pa.array([1, 12], pa.uint8()),
            pa.array(["1", "12"], pa.large_string()),
            pa.array(["1", "12"]).dictionary_encode(),
            pa.array([b"1", b"12"]),
        ],
    )
    def test_ids_of_every_type_are_texts(self, judged, ids):
        assert judged(parquet(query_id=ids, doc_id=ids, relevance=[1, 0])) == (
            {"1": {"1": 1.0}, "12": {"12": 0.0}},
            (),
        )

    def test_whole_numbers_with_a_point_are_ids_too_and_noted(self, judged):
        found, notes = judged(parquet(query_id=[1.0, 2.0], doc_id=["a", "b"], relevance=[1, 1]))
        assert found == {"1": {"a": 1.0}, "2": {"b": 1.0}}
        assert notes == ("1 columns of ids hold numbers like 12.0, read as 12",)

    @pytest.mark.parametrize(
        "grades",
        [
            pa.array([2, 1], pa.int8()),
            pa.array([2, 1], pa.float32()),
            pa.array([Decimal(2), Decimal(1)]),
        ],
    )
    def test_grades_of_every_type_are_numbers(self, judged, grades):
        assert judged(parquet(query_id=["q", "q"], doc_id=["a", "b"], relevance=grades))[0] == {
            "q": {"a": 2.0, "b": 1.0}
        }

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            ({"query_id": [None, "q"]}, "row 1: no query id"),
            ({"doc_id": ["a", ""]}, "row 2: no document id"),
            ({"query_id": [1.0, None]}, "row 2: no query id"),
            ({"query_id": [1.0, math.nan]}, "row 2: no query id"),
            ({"query_id": [1.5, 2.0]}, "its column of query ids holds double"),
            ({"doc_id": [["a"], ["b"]]}, "its column of document ids holds list"),
            ({"score": [None, 1.0]}, "row 1: no score"),
            ({"score": [math.nan, 1.0]}, "row 1: nan is no score"),
            ({"score": ["1", "2"]}, "its column score holds string, which is no score"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_row(self, file, columns, said):
        whole = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], **columns}
        assert problems_of(read_run, file(parquet(**whole)))[1].strip().startswith(said)

    def test_a_table_of_other_columns_or_none_is_told(self, file):
        found = problems_of(read_qrels, file(parquet(query_id=["q"], text=["a"])))
        assert found[1].strip().startswith("its columns are query_id, text; judgements are read as")
        nothing = parquet(
            query_id=pa.array([], pa.string()),
            doc_id=pa.array([], pa.string()),
            score=pa.array([], pa.float64()),
        )
        assert problems_of(read_run, file(nothing))[1].strip().startswith("it holds no hit")
        assert "cannot be read to its end" in problems_of(read_run, file(b"PAR1 and nothing more"))[1]


class TestOtherFiles:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "it holds no hit; runs are read as TREC"),
            (b"\n \n", "it holds no hit; runs are read as TREC"),
            (b"# only a remark\n", "it holds no hit; runs are read as TREC"),
            (b"PK\x03\x04 and so on", "it is a zip archive (or a spreadsheet); runs are read as TREC"),
            (b"\x7fELF\0\0\0\1", "it is no text; runs are read as TREC"),
            (b"Dear all,\nplease find the run\n", "its lines are like 'Dear all,'; runs are read as TREC"),
            (b"q1 0 a 1\n", "it holds judgements (4 columns (query iteration document grade)); runs are"),
            (
                b"q1\ta\t1\n",
                "it holds judgements (3 columns separated by tabs (query-id, corpus-id, score)); runs",
            ),
        ],
    )
    def test_what_is_no_run_is_told_with_what_is_read(self, file, content, said):
        assert problems_of(read_run, file(content))[1].strip().startswith(said)

    def test_a_run_in_the_place_of_judgements_is_told(self, file):
        said = problems_of(read_qrels, file(RUN))[1].strip()
        assert said.startswith(
            "it holds hits (6 columns (query Q0 document rank score tag)); judgements are read as"
        )

    def test_a_line_of_the_right_length_is_told_by_what_is_wrong_with_it(self, file):
        assert problems_of(read_run, file("q1 Q0 a 1 high tag\n"))[1] == "1: 'high' is no score"

    def test_a_missing_file_and_a_folder_are_told(self, tmp_path):
        with pytest.raises(BenchError, match=r"there is no file .*nowhere"):
            read_run(tmp_path / "nowhere")
        with pytest.raises(BenchError, match="is a folder, not a file; judgements are read as"):
            read_qrels(str(tmp_path))

    @pytest.mark.parametrize(
        "damage", [lambda data: data[:-9], lambda data: data[:30] + b"\xff" * 9 + data[39:]]
    )
    def test_a_damaged_gzip_file_is_told(self, file, damage):
        packed = gzip.compress((RUN * 50).encode(), compresslevel=1)
        assert "cannot be read to its end" in problems_of(read_run, file(damage(packed)))[1]

    def test_gzip_in_several_parts_is_one_file(self, judged):
        parts = TREC.splitlines(keepends=True)
        assert judged(b"".join(gzip.compress(part.encode()) for part in parts))[0] == JUDGED

    def test_a_long_remark_at_the_beginning_hides_nothing(self, judged):
        assert judged("# remark\n" * 5000 + TREC) == (JUDGED, ("5000 comment lines (#) passed over",))


class TestIds:
    def test_ids_alike_but_for_their_unicode_form_are_counted_and_kept_apart(self, judged):
        composed, taken_apart = "año", unicodedata.normalize("NFD", "año")
        grades, notes = judged(f"q 0 {composed} 1\nq 0 {taken_apart} 0\nq 0 ñu 1\n")
        assert set(grades["q"]) == {composed, taken_apart, "ñu"}
        assert notes == (
            "2 document ids differ from another only in Unicode form (NFC, NFD): "
            f"{composed}, {taken_apart}; they count as different",
        )

    def test_ids_of_two_files_that_differ_in_form_are_found(self):
        ours, theirs = (
            pa.array(["año", "ñu", "a", "é"]),
            pa.array([unicodedata.normalize("NFD", "año"), "ñu", "b"]),
        )
        assert differing_in_form(ours, theirs) == ("año",)

    def test_ids_that_stand_for_missing_ones_are_noted(self, judged):
        assert judged("None 0 a 1\nq 0 nan 1\n")[1] == (
            "a query id is 'None', which may stand for a missing one",
            "a document id is 'nan', which may stand for a missing one",
        )

    def test_blanks_around_an_id_belong_to_it_and_are_noted(self, judged):
        found, notes = judged('{"q": {" a": 1, "b": 1}}')
        assert found == {"q": {" a": 1.0, "b": 1.0}}
        assert notes == ("1 document ids have blanks around them, as ' a'; they belong to the id",)


# Words of every alphabet, without what makes columns or lines.
words = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=5).filter(
    lambda w: w[0] not in '#{["'
)
# "0" behind a query and a tab or blank is the second column of TREC.
ids_with_blanks = st.lists(words.filter(lambda word: word not in ("0", "Q0")), min_size=1, max_size=2).map(
    " ".join
)
numbers = st.floats(allow_nan=False) | st.integers(-9, 9).map(float)
finite = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-2, 4).map(float)


def nested(ids, values):
    return st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=4), min_size=1, max_size=4)


def rows_of(pairs):
    return [(query, doc, value) for query, docs in pairs.items() for doc, value in docs.items()]


@st.composite
def mess(draw, rows, *, blanks):
    """Rows as text with columns separated by blanks, and all that may stand between without a meaning."""
    lines = [draw(st.sampled_from(["", "# remark\n", "\n", " \t\n"]))]
    for row in rows:
        gaps = [draw(blanks) for _ in row]
        lines.append("".join(field + gap for field, gap in zip(row, [*gaps[1:], ""], strict=True)))
        lines.append(draw(st.sampled_from(["\n", " \n", "\t\n", "\n\n", "\n# remark\n"])))
    text = "".join(lines)
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoded = text.replace("\n", end).encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])))
    return gzip.compress(encoded) if draw(st.booleans()) else encoded


some_blanks = st.sampled_from([" ", "  ", "\t", " \t ", "   "])
QUICK = settings(max_examples=30, deadline=None)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("written") / "file"


@QUICK
@given(st.data())
def test_judgements_of_trec_are_read_back_however_they_were_written(path, data):
    judgements = data.draw(nested(words, finite))
    rows = [(query, "0", doc, repr(grade)) for query, doc, grade in rows_of(judgements)]
    path.write_bytes(data.draw(mess(rows, blanks=some_blanks)))
    assert read_qrels(path).qrels.by_query == judgements


@QUICK
@given(st.data())
def test_judgements_of_beir_are_read_back_however_they_were_written(path, data):
    judgements = data.draw(nested(ids_with_blanks, finite))
    rows = [(query, doc, repr(grade)) for query, doc, grade in rows_of(judgements)]
    head = data.draw(st.sampled_from([[], [("query-id", "corpus-id", "score")], [("qid", "docno", "rel")]]))
    path.write_bytes(data.draw(mess(head + rows, blanks=st.sampled_from(["\t", " \t", "\t "]))))
    assert read_qrels(path).qrels.by_query == judgements


@QUICK
@given(st.data())
def test_runs_of_trec_are_read_back_however_they_were_written(path, data):
    rankings = data.draw(nested(words, numbers))
    rows = [
        (query, "Q0", doc, str(i), repr(score), "tag")
        for i, (query, doc, score) in enumerate(rows_of(rankings))
    ]
    path.write_bytes(data.draw(mess(data.draw(st.permutations(rows)), blanks=some_blanks)))
    assert scores_of(read_run(path).run) == rankings


@QUICK
@given(nested(ids_with_blanks, numbers), st.booleans(), st.sampled_from([None, 2]))
def test_runs_in_json_are_read_back(path, rankings, escaped, indent):
    path.write_text(json.dumps(rankings, ensure_ascii=escaped, indent=indent), encoding="utf-8")
    assert scores_of(read_run(path).run) == rankings


@QUICK
@given(nested(ids_with_blanks, numbers))
def test_runs_in_lines_of_json_and_in_parquet_are_read_back(path, rankings):
    records = [{"query_id": query, "doc_id": doc, "score": score} for query, doc, score in rows_of(rankings)]
    path.write_text("\n".join(map(json.dumps, records)))
    assert scores_of(read_run(path).run) == rankings
    pq.write_table(pa.Table.from_pylist(records), path)
    assert scores_of(read_run(path).run) == rankings


fragments = st.lists(
    st.sampled_from(
        ["q1", "q 2", "0", "Q0", "d1", "dé", "", "1", ".5", "nan", "x", "#", "tag", *" \t\t \n\n\r\0"]
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(fragments, st.sampled_from([JUDGEMENTS, HITS]), st.sampled_from([" ", "\t", ""]))
def test_what_is_read_quickly_is_what_is_read_with_care(fragments, kind, between):
    good = ["q9 Q0 d9 1 2.0 tag", "q9 0 d9 1"][kind == JUDGEMENTS]
    text = plain((good + "\n" + between.join(fragments)).encode())
    problems = Problems()
    form = form_of(text, Path("file"), kind, problems)
    quick = None if form is None else quick_pairs(text, form)
    if quick is None:
        return
    careful, comments = pairs_by_line(text, Path("file"), form, problems)
    assert not problems
    for ours, theirs in ((quick.query, careful.query), (quick.doc, careful.doc)):
        assert ours.to_pylist() == theirs.to_pylist()
    assert quick.value.tolist() == careful.value.tolist()
    assert quick.notes == ((f"{comments} comment lines (#) passed over",) if comments else ())


@settings(max_examples=50, deadline=None)
@given(fragments, st.sampled_from([JUDGEMENTS, HITS]), st.integers(1, 40))
def test_one_odd_line_makes_no_difference_to_the_others(fragments, kind, size):
    good = ["q{0} Q0 d9 1 2.0 tag\n", "q{0} 0 d9 1\n"][kind == JUDGEMENTS]
    many = "".join(good.format(i) for i in range(5))
    text = plain((many + " ".join(fragments) + "\n" + many.replace("q", "p")).encode())
    form = form_of(text, Path("file"), kind, Problems())
    in_blocks, by_line = Problems(), Problems()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bench.reading.columns.BLOCK", size)
        found = careful_pairs(text, Path("file"), form, in_blocks)
    expected, comments = pairs_by_line(text, Path("file"), form, by_line)
    assert in_blocks.found == by_line.found
    assert found.query.to_pylist() == expected.query.to_pylist()
    assert found.doc.to_pylist() == expected.doc.to_pylist()
    assert found.value.tolist() == expected.value.tolist()
    assert found.line.tolist() == expected.line.tolist()
    assert bool(found.notes) == bool(comments)


def test_a_plain_file_is_read_quickly_and_an_odd_one_with_care():
    def is_quick(text, kind):
        form = form_of(plain(text.encode()), Path("file"), kind, Problems())
        return quick_pairs(plain(text.encode()), form) is not None

    for text, kind in ((RUN, HITS), (TREC, JUDGEMENTS), (BEIR, JUDGEMENTS)):
        assert is_quick(text, kind)
        assert is_quick("\ufeff" + text.replace("\n", "\r\n"), kind)
        assert is_quick(text + "# remark\n", kind)
    for text, kind in ((RUN, HITS), (TREC, JUDGEMENTS)):
        assert is_quick(text.replace(" ", "  "), kind)
        assert is_quick(text.replace(" ", "\t"), kind)
        assert is_quick(text.replace(" ", "\t\t"), kind)
        assert not is_quick(text + text, kind)


def test_what_the_files_of_others_hold_is_scored(file):
    # A judged query that the run lacks counts 0; one with nothing relevant is left out and changes no other.
    qrels = read_qrels(file("q1 0 a 1\nq2 0 b 0\nq3 0 c 1\nq4 0 d 1\n", "qrels"))
    run = read_run(file("q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\nq3 Q0 c 1 1 t\nq9 Q0 c 1 1 t\n", "run"))
    found = evaluate(run.run, qrels.qrels, ks=[5], measures=[MEASURES["mrr"]])
    assert found.mean("mrr", 5) == pytest.approx(2 / 3)
    assert (found.counted("mrr", 5), found.no_relevant, int(found.unanswered.sum())) == (3, 1, 1)


def test_a_run_is_the_same_whether_it_was_read_or_made(file):
    run = make_run({"q1": {"b": 1.0, "a": 1.0, "c": 2.0}, "q2": {"é": 0.5, "z": 0.5}})
    read = read_run(
        file("q2 Q0 é 1 0.5 t\nq2 Q0 z 2 .5 t\nq1 Q0 a 2 1 t\nq1 Q0 c 1 2 t\nq1 Q0 b 3 1 t\n")
    ).run
    assert read.queries == run.queries
    assert read.docs == run.docs
    np.testing.assert_array_equal(read.rows, run.rows)
    np.testing.assert_array_equal(read.scores, run.scores)


def test_judgements_are_the_same_whether_they_were_read_or_made(file):
    assert read_qrels(file(TREC)).qrels.digest == make_qrels(JUDGED).digest
