"""Where a verb writes: through links, into pipes, and never over what is no file or what is read."""

from __future__ import annotations

import os
import threading

import pytest
from tests.cli.program import bench

from bench.artifacts import write_text
from bench.errors import BenchError
from bench.output import form_of, refuse_unwritable, write_out

FORMS = {".txt": "table", ".json": "json"}


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_out(pipe, write_text("figures"))
    reader.join(timeout=10)
    assert heard == ["figures"]
    assert pipe.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_that_it_leads_to_is_written(tmp_path, there):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "scores.json", tmp_path / "link.json"
    link.symlink_to("far/scores.json")
    if there:
        target.write_text("old")
    refuse_unwritable("-o", link)
    write_out(link, write_text("new"))
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_row_of_links_in_a_circle_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(BenchError, match=r"its links lead nowhere|there is no folder|cannot be written"):
        refuse_unwritable("-o", tmp_path / "a")
        write_out(tmp_path / "a", write_text(""))


def test_a_folder_a_missing_one_and_a_packed_name_are_refused(tmp_path):
    for path, said in (
        (tmp_path, "it is a folder; name a file in it"),
        (tmp_path / "no" / "x.json", "there is no folder"),
        (tmp_path / "x.json.gz", "nothing is compressed; leave out .gz"),
    ):
        with pytest.raises(BenchError, match=said):
            refuse_unwritable("-o", path)


def test_what_is_read_is_refused_by_any_of_its_names(tmp_path):
    run, link = tmp_path / "run.txt", tmp_path / "link.txt"
    run.write_text("")
    link.symlink_to(run)
    for path in (run, link):
        with pytest.raises(BenchError, match=r"--junit .*: it is read .* and would be lost"):
            refuse_unwritable("--junit", path, read=[run])


def test_what_a_folder_that_is_read_keeps_is_refused_and_a_page_in_it_is_not(tmp_path):
    (tmp_path / "job").mkdir()
    for name in ("grid.parquet", "job/run.parquet", "compare.md"):
        (tmp_path / name).write_text("")
    refuse_unwritable("-o", tmp_path / "compare.md", read=[tmp_path])
    for name in ("grid.parquet", "job/run.parquet"):
        with pytest.raises(BenchError, match="would be lost"):
            refuse_unwritable("-o", tmp_path / name, read=[tmp_path])


def test_a_file_that_cannot_be_written_after_all_is_told_as_what_a_user_can_put_right(tmp_path):
    with pytest.raises(BenchError, match=r"x\.json cannot be written: No such file or directory"):
        write_out(tmp_path / "no" / "x.json", write_text(""))


def test_the_form_is_the_one_named_or_that_of_the_ending_and_no_other(tmp_path):
    assert form_of("-o", None, FORMS, named=None) == "table"
    assert form_of("-o", tmp_path / "x.JSON", FORMS, named=None) == "json"
    assert form_of("-o", tmp_path / "x", FORMS, named=None) == "table"
    assert form_of("-o", tmp_path / "x.md", FORMS, named="table") == "table"
    with pytest.raises(BenchError, match=r"'.md' says no form: .txt, .json, or --format FORM"):
        form_of("-o", tmp_path / "x.md", FORMS, named=None)


class TestEvaluate:
    @pytest.fixture(autouse=True)
    def _files(self, in_folder):
        (in_folder / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\n")
        (in_folder / "run.txt").write_text("q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\nq1 Q0 c 3 0.5 x\n")

    def evaluate(self, *words, qrels="qrels.txt", runs=("run.txt",)):
        return bench("evaluate", "--qrels", qrels, "--run", *runs, *words, on=())

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("-o", "qrels.txt"), "would be lost"),
            (("-o", "run.txt"), "would be lost"),
            (("-o", "."), "it is a folder"),
            (("-o", "scores.md"), "says no form"),
            (("--format", "json", "-o", "scores.json.gz"), "nothing is compressed"),
            (("--measures", ""), "names nothing"),
            (("--k", "1000000000000"), "more than 1,000,000,000"),
            (("--measures", "nDCG@999999999999"), "a cut-off is at most 1,000,000,000"),
            (("--measures", "P@" + 5000 * "9"), "a cut-off is at most 1,000,000,000"),
            (("--measures", "nDCG(dcg='log2')@5"), "dcg can be 'exp-log2'"),
            (("--max-grade", "1e6", "--measures", "ERR@5"), "no use for grades up to 1e+06"),
        ],
    )
    def test_what_cannot_be_done_is_refused_before_anything_is_written(self, in_folder, words, said):
        before = {one.name: one.read_bytes() for one in in_folder.iterdir() if one.is_file()}
        answer = self.evaluate(*words)
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
        assert {one.name: one.read_bytes() for one in in_folder.iterdir() if one.is_file()} == before

    def test_a_k_beyond_every_ranking_takes_no_more_room_than_what_is_there(self):
        answer = self.evaluate("--k", "1000000000", "--bounds", "--ties", "--format", "json")
        deep = self.evaluate("--k", "10", "--bounds", "--ties", "--format", "json")
        assert answer.code == deep.code == 0
        for measure in ("R", "RR", "nDCG"):
            one, other = (
                next(line for line in text.splitlines() if f'"{measure}@' in line).partition('"mean"')[2]
                for text in (answer.out, deep.out)
            )
            assert one == other

    @pytest.mark.parametrize("grade", ["1001", "1024", "1e30"])
    def test_grades_that_an_exponential_gain_cannot_hold_are_refused_and_others_are_scored(
        self, in_folder, grade
    ):
        (in_folder / "qrels.txt").write_text(f"q1 0 a {grade}\nq1 0 b 1\n")
        for measure in ("nDCG(dcg='exp-log2')@5", "ERR@5"):
            answer = self.evaluate("--measures", measure)
            assert answer.code == 2
            assert "the gain 2^g - 1 has no use for grades up to" in answer.err
        assert self.evaluate("--measures", "nDCG@5,P@2", "--bounds").code == 0

    def test_a_file_in_another_encoding_is_told_by_its_line(self, in_folder):
        (in_folder / "qrels.txt").write_bytes("qé 0 a 1\n".encode("latin-1"))
        answer = self.evaluate()
        assert answer.code == 2
        assert "qrels.txt:1: not UTF-8" in answer.err
        assert "iconv -f LATIN1 -t UTF-8" in answer.err

    def test_a_folder_in_the_place_of_judgements_is_called_one(self, in_folder):
        (in_folder / "folder").mkdir()
        answer = self.evaluate(qrels="folder")
        assert answer.code == 2
        assert "folder is a folder; name a file in it" in answer.err

    def test_a_run_that_is_given_twice_is_refused(self):
        answer = self.evaluate(runs=("run.txt", "./run.txt"))
        assert answer.code == 2
        assert "run.txt is given 2 times" in answer.err

    def test_a_measure_that_is_named_twice_stands_once(self):
        answer = self.evaluate("--measures", "P@2,p@2", "--format", "csv")
        assert answer.out.count("P@2") == 1

    def test_notes_of_judgements_name_their_file_and_fractions_where_they_stand(self, in_folder):
        (in_folder / "qrels.txt").write_text("# by hand\nq1 0 a 1.5\nq1 0 b 0\n")
        answer = self.evaluate("--trec-eval")
        assert "qrels.txt: 1 comment lines" in answer.err
        assert "1 fractional grades in the judgements (qrels) are cut to whole ones" in answer.err

    def test_a_document_that_stands_twice_brings_the_option_to_put_it_right(self, in_folder):
        (in_folder / "run.txt").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 a 2 1.0 x\n")
        assert "--duplicates keep-first" in self.evaluate().err
        assert self.evaluate("--duplicates", "keep-first").code == 0


@pytest.mark.parametrize("rule", ["nDCG@5=70", "P@5=-0.1"])
def test_a_gate_refuses_a_limit_that_no_measure_can_reach(in_folder, rule):
    answer = bench("gate", "nowhere", "--min", rule, on=())
    assert answer.code == 2
    assert "is from 0 to 1" in answer.err


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_gate_refuses_a_folder_to_write_into_before_it_reads(in_folder, option):
    answer = bench("gate", "nowhere", "--min", "nDCG@5=0.7", option, ".", on=())
    assert answer.code == 2
    assert f"{option} .: it is a folder" in answer.err
