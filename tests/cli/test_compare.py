"""`python -m bench compare`: a sweep, a system against a baseline, two folders; and what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.course import write_course
from tests.cli.program import FAST, OUR_PARTS, Answer, bench, copy_of_tiny, on, replace_in

COURSE = ("collection=beir", "collection.path=course", "timing=off", "k=[5,10]")
SHOWN = ("--measure", "nDCG@10", "--also", "P@5,R@10,RR@10")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep over Boreal, the course's before and after in one folder and in two, and a sweep over few needs."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BENCH_CACHE", str(folder / "cache"))
        sweep = ("-m", "collection=boreal", "retriever=bm25,faiss", "reranker=none,overlap", "k=[1,5,10]")
        assert bench(*sweep, "name=sweep", on=FAST).code == 0
        write_course(folder)
        for name in ("before", "after"):
            stored = ("retriever=run_file", f"run_file.path={name}.trec")
            assert bench(*COURSE, *stored, f"name={name}", on=()).code == 0
            assert bench(*COURSE, *stored, "name=course", on=()).code == 0
        assert (
            bench("-m", "retriever=bm25,faiss", "k=[1,3]", "name=tiny", on=on(copy_of_tiny(folder))).code == 0
        )
    return folder


@pytest.fixture(autouse=True)
def _there(made, monkeypatch):
    """The folders are only read."""
    monkeypatch.chdir(made)
    monkeypatch.setenv("BENCH_CACHE", str(made / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


def compare(*words) -> Answer:
    return bench("compare", *map(str, words), on=())


def found(*words) -> dict[str, list]:
    answer = compare(*words, "--format", "json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def lines(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.err
    return [" ".join(line.split()) for line in answer.out.splitlines()]


class TestTheCourse:
    BEFORE, AFTER = "run_file(path=before.trec)", "run_file(path=after.trec)"

    def test_before_and_after_are_told_as_the_course_has_them(self):
        answer = compare("outputs/course", "--baseline", self.BEFORE, *SHOWN)

        assert lines(answer)[0].startswith(f"course: nDCG@10 against {self.BEFORE}: {self.AFTER} rose.")
        rows = {
            line.split()[0]: line
            for line in lines(answer)
            if line.startswith(("P@", "R@", "RR@", "nDCG@10 0"))
        }
        assert rows["nDCG@10"].startswith("nDCG@10 0.700 0.820 +12.0 +17.1 % ")
        assert rows["P@5"].startswith("P@5 ° 0.650 0.780 +13.0 +20.0 % ")
        assert rows["RR@10"].startswith("RR@10 ° 0.550 0.680 +13.0 +23.6 % ")
        assert rows["R@10"].startswith("R@10 ° 0.800 0.800 +0.0 +0.0 % ")
        assert rows["R@10"].endswith(" 0/20/0")

    def test_it_says_what_rose_and_why_recall_could_not_move(self):
        sentences = found("outputs/course", "--baseline", self.BEFORE, *SHOWN)["sentences"]
        said = {one["about"]: one["sentence"] for one in sentences}

        assert said["change"].startswith(
            "nDCG@10 rose from 0.700 to 0.820: +12.0 points, +17.1 % relative (95 %: +"
        )
        assert said["exploratory"] == (
            "Exploratory: P@5 (+13.0 points, +20.0 % relative) rose; chance alone can explain RR@10 (+13.0 points, "
            "+23.6 % relative). "
            "R@10 did not move: 0.800 before and after, for both hand on the same 10 documents for every query, and a "
            "reranker over the same candidates cannot change recall at their depth."
        )  # fmt: skip

    def test_two_folders_say_what_one_folder_says(self):
        one = found("outputs/course", "--baseline", self.BEFORE, *SHOWN)
        two = found("outputs/before", "outputs/after", *SHOWN)

        assert two["changes"][0]["baseline"] == f"before/{self.BEFORE}"
        assert two["changes"][0]["system"] == f"after/{self.AFTER}"
        names = {"baseline", "system", "against", "sentence"}
        for kind in ("changes", "queries", "pairs", "references"):
            for ours, theirs in zip(one[kind], two[kind], strict=True):
                assert {k: v for k, v in ours.items() if k not in names} == {
                    k: v for k, v in theirs.items() if k not in names
                }

    def test_the_queries_that_moved_most_have_their_text(self):
        queries = found("outputs/course", "--baseline", self.BEFORE, *SHOWN)["queries"]
        gained = [one for one in queries if one["difference"] > 0]
        assert gained == sorted(gained, key=lambda one: -one["difference"])
        assert queries[0]["text"] == f"question {int(queries[0]['query_id'][1:])}"


class TestASweep:
    def test_means_and_intervals_are_those_of_the_grid(self):
        grid = pd.read_parquet("outputs/sweep/grid.parquet").query("k == 5").set_index("system")
        systems = found("outputs/sweep")["systems"]

        assert [one["system"] for one in systems] == list(grid["ndcg"].sort_values(ascending=False).index)
        for one in systems:
            row = grid.loc[one["system"]]
            assert [one[name] for name in ("mean", "lo", "hi")] == pytest.approx(
                [row["ndcg"], row["ndcg_lo"], row["ndcg_hi"]], abs=1e-12
            )
            assert (one["family"], one["correction"]) == (4, "Holm")
        assert sum(one["best_share"] for one in systems) == pytest.approx(1)

    def test_the_answer_comes_first_and_names_the_family(self):
        shown = lines(compare("outputs/sweep"))
        first = found("outputs/sweep")["systems"][0]
        assert shown[0].startswith(f"boreal: {first['system']} has the highest nDCG@5, {first['mean']:.3f}")
        text = " ".join(shown)
        assert "Holm over the family of 4 systems" in text
        assert "no k was named, so k=5 is tested (another: --measure nDCG@K)" in text
        for reference in ("(random)", "(popular)", "(oracle)"):
            assert any(line.startswith(reference) for line in shown)

    def test_every_retriever_has_a_verdict_on_its_reranker_marked_as_exploratory(self):
        rerankers = found("outputs/sweep")["rerankers"]
        assert [(one["without"], one["system"]) for one in rerankers] == [
            ("bm25", "bm25+overlap"), ("faiss(hashing)", "faiss+overlap(hashing)"),
        ]  # fmt: skip
        assert all(one["exploratory"] and one["among"] == 2 for one in rerankers)
        assert {one["verdict"] for one in rerankers} <= {"better", "no worse", "worse", "undecided"}
        assert "Is the reranker worth it, by nDCG@5 (exploratory)" in lines(compare("outputs/sweep"))

    def test_k_is_advised_for_the_systems_that_may_be_the_best(self):
        tables = found("outputs/sweep")
        best = {one["system"] for one in tables["systems"] if one["can_be_best"]}
        assert {one["system"] for one in tables["advice"]} == best
        assert {one["measure"] for one in tables["advice"]} == {"Complete@1", "Complete@5"}
        assert any(line.startswith("Which k, by Complete@k") for line in lines(compare("outputs/sweep")))

    def test_pairs_say_what_could_be_found_what_is_unjudged_and_how_alike_they_are(self):
        pairs = found("outputs/sweep", "--worth-finding", "0.1")["pairs"]
        assert len(pairs) == 3
        for one in pairs:
            assert one["low"] - 1e-12 <= one["difference"] <= one["high"] + 1e-12
            assert one["decided"] == (one["low"] > 0 or one["high"] < 0)
            assert one["more_needs"] == 0 or one["detectable"] > 0.1
            assert 0 <= one["rbo"] <= 1

    def test_one_measure_and_k_can_be_asked_for(self):
        assert found("outputs/sweep", "--measure", "rr@10")["systems"][0]["measure"] == "RR@10"
        assert found("outputs/sweep", "--k", "1,10")["systems"][0]["measure"] == "nDCG@1"
        assert found("outputs/sweep", "--measure", "Rprec")["systems"][0]["measure"] == "Rprec"

    def test_few_needs_have_no_interval_and_nothing_is_said_with_certainty(self):
        tables = found("outputs/tiny")
        assert {one["lo"] for one in tables["systems"]} == {None}
        assert all(one["can_be_best"] for one in tables["systems"])
        shown = " ".join(lines(compare("outputs/tiny")))
        assert "none of the 2 systems can be told from the best" in shown
        assert "k=3 is tested, the nearest to 5 of 1, 3" in shown


class TestABaseline:
    def test_the_family_is_every_other_system_and_the_rest_is_one_system_in_detail(self):
        changes = found("outputs/sweep", "--baseline", "bm25", "--system", "bm25+overlap")["changes"]
        family = [one for one in changes if not one["exploratory"]]
        rest = [one for one in changes if one["exploratory"]]

        assert [one["system"] for one in family] == [
            "bm25+overlap",
            "faiss(hashing)",
            "faiss+overlap(hashing)",
        ]
        assert {(one["correction"], one["among"]) for one in family} == {("Holm", 3)}
        assert [(one["system"], one["measure"]) for one in rest] == [
            ("bm25+overlap", name) for name in ("P@5", "R@5", "RR@5", "Complete@5")
        ]
        assert {(one["correction"], one["among"]) for one in rest} == {("Benjamini-Hochberg", 4)}

    def test_in_detail_is_the_highest_of_the_others_where_none_is_named(self):
        tables = found("outputs/sweep", "--baseline", "bm25")
        highest = max(tables["changes"][:3], key=lambda one: one["after"])
        assert tables["pairs"][0]["system"] == highest["system"]

    def test_other_cut_offs_are_shown_where_they_are_asked_for(self):
        changes = found("outputs/sweep", "--baseline", "bm25", "--k", "1,5", "--also", "R,Rprec,P@10")[
            "changes"
        ]
        assert [one["measure"] for one in changes[3:]] == ["R@1", "R@5", "Rprec", "P@10"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (
                ("outputs/sweep", "--baseline", "bm52"),
                "outputs/sweep has no system 'bm52' on boreal; did you mean 'bm25'?",
            ),
            (("outputs/sweep", "--baseline", "bm25", "--system", "faiss"), "did you mean 'faiss(hashing)'?"),
            (("outputs/sweep", "--system", "bm25"), "--baseline SYSTEM is missing"),
            (("outputs/sweep", "--baseline", "bm25", "--system", "bm25"), "name two"),
            (("outputs/sweep", "--also", "P@5"), "--baseline SYSTEM is missing"),
            (("outputs/swep",), "there is no folder outputs/swep; did you mean 'sweep'?"),
            (("outputs/sweep", "--measure", "nDCG@7"), "there are no values of nDCG@7; k was 1, 5, 10"),
            (("outputs/sweep", "--measure", "nDGC"), "did you mean 'nDCG'?"),
            (("outputs/sweep", "--measure", "P(rel=2)@5"), "P(rel=2) is not kept query by query"),
            (("outputs/sweep", "--k", "7"), "there are no values of nDCG@7"),
            (
                ("outputs/sweep", "--collection", "aurora"),
                "outputs/sweep holds nothing of a collection 'aurora'",
            ),
            (("outputs/sweep", "--seed", "3"), "nothing of boreal with seed 3; it has 0"),
            (("outputs/sweep", "--alpha", "5"), "'5' is no number between 0 and 1"),
            (("outputs/sweep", "outputs/sweep"), "is before and after"),
            (("outputs/sweep", "outputs/tiny", "outputs/course"), "two folders are compared at most"),
            (("outputs/sweep", "--basline", "bm25"), "did you mean '--baseline'?"),
        ],
    )
    def test_what_is_not_there_is_named_with_what_is(self, words, said):
        answer = compare(*words)
        assert answer.code == 2
        assert said in answer.err
        assert answer.out == ""


class TestTwoFolders:
    @pytest.fixture
    def changed(self, tmp_path, monkeypatch):
        """A working folder with a collection that can be changed, and a run over it as it was."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
        tiny = copy_of_tiny(tmp_path)
        self.run(tiny, "old")
        return tiny

    @staticmethod
    def run(tiny: Path, name: str, *words: str) -> None:
        assert bench("retriever=bm25", "k=5", f"name={name}", *words, on=on(tiny)).code == 0

    def test_other_judgements_are_refused(self, changed):
        replace_in(changed / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")
        self.run(changed, "new")
        answer = compare("outputs/old", "outputs/new")
        assert answer.code == 2
        assert "share a need, are others in outputs/old than in outputs/new" in answer.err
        assert "python -m bench evaluate" in answer.err
        assert "the queries" not in answer.err

    def test_other_queries_and_other_needs_are_refused(self, changed):
        replace_in(changed / "queries.jsonl", "me sale PAG-302", "me sale PAG-303")
        self.run(changed, "new")
        assert "the queries of tiny are others" in compare("outputs/old", "outputs/new").err
        replace_in(changed / "queries.jsonl", "me sale PAG-303", "me sale PAG-302")
        replace_in(changed / "queries.jsonl", '"need": "n3"', '"need": "n4"')
        self.run(changed, "newer")
        assert "which of its queries share a need" in compare("outputs/old", "outputs/newer").err

    def test_no_collection_in_common_is_refused(self):
        answer = compare("outputs/sweep", "outputs/course")
        assert answer.code == 2
        assert "outputs/sweep holds boreal; outputs/course holds course" in answer.err

    def test_other_documents_are_compared_and_said(self, changed):
        replace_in(changed / "corpus.jsonl", "naturales desde", "naturales, desde")
        self.run(changed, "new")
        tables = found("outputs/old", "outputs/new")
        assert [one["note"] for one in tables["notes"]] == ["tiny: the documents of the two folders differ"]
        assert tables["changes"][0]["system"] == "new/bm25"

    def test_where_it_is_open_which_systems_are_meant_they_are_listed(self, changed):
        for name in ("one", "two"):
            assert bench("-m", "retriever=bm25,faiss", "k=5", f"name={name}", on=on(changed)).code == 0
        answer = compare("outputs/one", "outputs/two")
        assert answer.code == 2
        assert "which system? --system SYSTEM (in both: bm25, faiss(hashing))" in answer.err
        changes = found("outputs/one", "outputs/two", "--baseline", "bm25", "--system", "faiss(hashing)")[
            "changes"
        ]
        assert (changes[0]["baseline"], changes[0]["system"]) == ("one/bm25", "two/faiss(hashing)")
        (same,) = {
            one["direction"] for one in found("outputs/one", "outputs/two", "--system", "bm25")["changes"]
        }
        assert same == "did not move"


class TestForms:
    def test_json_has_every_list_and_csv_the_systems_or_the_changes(self):
        sweep, change = found("outputs/sweep"), found("outputs/sweep", "--baseline", "bm25")
        assert list(sweep) == list(change)
        assert not sweep["changes"] and not change["systems"]
        for words, kind, tables in (((), "systems", sweep), (("--baseline", "bm25"), "changes", change)):
            rows = list(csv.DictReader(compare("outputs/sweep", *words, "--format", "csv").out.splitlines()))
            assert [row["system"] for row in rows] == [one["system"] for one in tables[kind]]
            assert list(rows[0]) == list(tables[kind][0])

    def test_a_file_gets_the_form_of_its_name(self, tmp_path):
        begins = {"c.md": "**boreal: ", "c.json": '{"systems"', "c.csv": "collection,", "c.txt": "boreal: "}
        for name, begin in begins.items():
            answer = compare("outputs/sweep", "-o", tmp_path / name)
            assert (answer.code, answer.out) == (0, "")
            assert (tmp_path / name).read_text().startswith(begin)
        assert "| system | nDCG@5 | 95 % | p | best in | may be the best |" in (tmp_path / "c.md").read_text()

    def test_help_has_examples(self):
        answer = compare("--help")
        assert answer.code == 0
        assert "python -m bench compare outputs/default --baseline bm25" in answer.out


class TestFoldersOfManyKinds:
    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))

    def test_several_collections_have_a_section_each(self, tmp_path):
        tiny = copy_of_tiny(tmp_path)
        other = shutil.copytree(tiny, tmp_path / "other")
        for folder, retrievers in ((tiny, "bm25,faiss"), (other, "bm25")):
            assert bench("-m", f"retriever={retrievers}", "k=5", on=on(folder)).code == 0
        assert {one["collection"] for one in found("outputs/default")["systems"]} == {"tiny", "other"}
        assert {
            one["collection"] for one in found("outputs/default", "--collection", "other")["systems"]
        } == {"other"}
        against = found("outputs/default", "--baseline", "bm25", "--system", "faiss(hashing)")
        assert {one["collection"] for one in against["changes"]} == {"tiny"}
        assert any("left out" in one["note"] and "other" in one["note"] for one in against["notes"])

    def test_what_failed_and_what_lacks_the_k_is_said(self, tmp_path):
        tiny = copy_of_tiny(tmp_path)
        assert bench(*OUR_PARTS, "-m", "retriever=bm25", "reranker=none,broken", "k=5", on=on(tiny)).code == 1
        assert bench("retriever=faiss", "k=3", on=on(tiny)).code == 0
        notes = [one["note"] for one in found("outputs/default", "--measure", "nDCG@5")["notes"]]
        assert any(note.startswith("tiny: bm25+broken failed: ") for note in notes)
        assert "tiny: left out, without nDCG@5: faiss(hashing)" in notes

    def test_seeds_are_told_apart(self, tmp_path):
        tiny = copy_of_tiny(tmp_path)
        assert bench("-m", "retriever=bm25,faiss", "seed=0,1", "k=5", on=on(tiny)).code == 0
        assert len(found("outputs/default", "--seed", "1")["systems"]) == 2
        notes = [one["note"] for one in found("outputs/default")["notes"]]
        assert "tiny: seed 0 of 0, 1 (another by --seed)" in notes

    def test_two_systems_of_one_name_are_told_apart_by_their_id(self, tmp_path):
        write_course(tmp_path)
        for ranking in ("before", "after"):
            shutil.copy(f"{ranking}.trec", "run.trec")
            assert bench(*COURSE, "retriever=run_file", "run_file.path=run.trec", on=()).code == 0
        systems = pd.read_parquet("outputs/default/grid.parquet").drop_duplicates("system_id")
        names = {f"run_file(path=run.trec) #{one[:6]}" for one in systems["system_id"]}
        assert len(names) == 2
        assert {one["system"] for one in found("outputs/default")["systems"]} == names

    def test_jobs_of_an_earlier_state_are_counted(self, tmp_path):
        tiny = copy_of_tiny(tmp_path)
        assert bench("retriever=faiss", "k=5", on=on(tiny)).code == 0
        replace_in(tiny / "queries.jsonl", "me sale PAG-302", "me sale PAG-303")
        assert bench("retriever=bm25", "k=5", on=on(tiny)).code == 0
        tables = found("outputs/default")
        assert [one["system"] for one in tables["systems"]] == ["bm25"]
        assert "tiny: left out, of another state of the collection: 1 jobs" in [
            one["note"] for one in tables["notes"]
        ]

    def test_a_damaged_run_is_named_with_what_to_do(self, tmp_path):
        tiny = copy_of_tiny(tmp_path)
        assert bench("-m", "retriever=bm25,faiss", "k=5", on=on(tiny)).code == 0
        (run,) = Path("outputs/default").glob("bm25-*/run.parquet")
        run.write_bytes(b"nothing")
        answer = compare("outputs/default")
        assert answer.code == 2
        assert "run.parquet cannot be read" in answer.err
