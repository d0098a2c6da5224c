"""What is asked wrongly: the nearest right name, exit code 2, and nothing written."""

import shutil

import pytest
from tests.cli.program import FAST, OUR_PARTS, bench
from tests.conftest import TINY


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


WRONG = {
    # the names of things
    "retriver=bm25": "no setting 'retriver'; did you mean 'retriever'?",
    "retriever=bm52": "retriever=bm52: there is no such option; did you mean 'bm25'?",
    "-m reranker=none,overlp": "reranker=overlp: there is no such option; did you mean 'overlap'?",
    "+experiment=k_vs_rerank": "did you mean 'k_vs_reranker'?",
    "bm25.k2=1": "no setting 'bm25.k2'; did you mean 'bm25.k1'?",
    "embedder.dmi=8": "no setting 'embedder.dmi'; did you mean 'embedder.dim'?",
    "-m retriever=bm25 bm25.kl=1,2": "no setting 'bm25.kl'; did you mean 'bm25.k1'?",
    "measures=[ndgc]": "there is no measure 'ndgc'; did you mean 'ndcg'?",
    # what is added by + and nothing would read
    "+bm25.k2=1": "no setting 'bm25.k2'; did you mean 'bm25.k1'?",
    "++dpeth=50": "no setting 'dpeth'; did you mean 'depth'?",
    "++store.serach.efSearch=50": "store has no setting 'serach'; did you mean 'search'?",
    "store=faiss_hnsw ++store.search.efSaerch=50": "no such setting; it has efSearch",
    "++store.search.nprobe=4": "the index Flat has no such setting",
    # values
    "retriever=bm25 bm25.engine=bm25": "bm25.engine='bm25'; did you mean 'bm25s'?",
    "collection.language=spansih": "collection.language is 'spansih'; it can be auto, spanish",
    "collection.unknown=ignore": "it can be error, keep, drop",
    "k=five": "k=five: k is a whole number from 1, or a list of them",
    "k=[]": "k=[]: k is a whole number from 1, or a list of them",
    "k=[5,200]": "k=200 is more than depth=100 candidates",
    "depth=2.5": "depth is a whole number from 1",
    "dry_run=yess": "dry_run is true or false",
    "timing=default timing.calls=many": "timing.calls='many': a whole number from 1",
    "name=../elsewhere": "letters, digits, dot, underscore and hyphen only",
    "collection.path=nowhere": "collection.path: there is no folder nowhere",
    "k=[1,": "'k=[1,' cannot be understood: brackets and quotes must be closed",
    "retriever=null": "retriever=null: retriever is one of bm25, callable, dense",
    "-m reranker=none,5": "reranker is one of cross_encoder, endpoint, late_interaction,",
    "+experiment=null": "experiment is one of analyzers, bm25_parameters",
    "~k": "~k: k cannot be left out; give it another value, k=…",
    "hydra.mode=RUN dry_run=true": "hydra.mode=RUN: the program sets hydra.mode; leave it out",
    "measures=[ndcg@5] k=2": "measures: ndcg@5: k is a setting of its own, measures=[ndcg] k=5",
    "retriever=dense embedder=sentence_transformer": "bench: embedder.model must be given: embedder.model=…",
    # what does not belong in one table
    "-m name=a,b": "a command writes one folder",
    "-m collection.limit=2,4": "two states of the collection tiny in one table",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_request_is_answered_with_what_is_right_and_writes_nothing(words, in_folder):
    answer = bench(*words.split())

    assert answer.code == 2
    assert answer.out == ""
    assert WRONG[words] in answer.err
    assert "Traceback" not in answer.err
    assert not any(in_folder.iterdir())


def test_a_collection_without_its_path_is_asked_for_it(in_folder):
    answer = bench("collection=beir", on=())

    assert answer.code == 2
    assert "collection.path" in answer.err
    assert not any(in_folder.iterdir())


def test_where_no_job_can_run_all_reasons_are_told_and_nothing_is_written(in_folder):
    answer = bench("-m", *OUR_PARTS, "embedder=missing,unreachable")

    assert answer.code == 2
    assert "faiss(missing): the library library is not installed: pip install 'bench[vectors]'" in answer.err
    assert "faiss(unreachable): the model is on another planet: take embedder=hashing" in answer.err
    assert not any(in_folder.iterdir())


def test_a_part_that_cannot_even_be_checked_fails_its_own_job_alone():
    alone = bench(*OUR_PARTS, "retriever=bm25", "reranker=puzzled")
    assert alone.code == 2
    assert "bm25+puzzled: TypeError: a number is needed, not a text" in alone.err.replace("bench: ", "")

    both = bench("-m", *OUR_PARTS, "retriever=bm25", "reranker=none,puzzled")
    assert both.code == 1
    assert "failed: bm25+puzzled on tiny: TypeError: a number is needed, not a text" in both.err
    assert "Traceback" not in both.err


@pytest.mark.parametrize("folder", ["ñandú", "a=b,c", "a~b", "mi colección {1}", "it's"])
def test_a_folder_may_be_called_whatever_it_likes(folder, in_folder):
    shutil.copytree(TINY, in_folder / folder)

    ran = bench("retriever=bm25", "dry_run=true", f"collection.path={folder}", on=("collection=beir", *FAST))
    assert ran.code == 0, ran.err
    assert f"bm25 on {folder}, k=[5]: to do" in ran.out

    checked = bench("data", "check", folder, on=())
    assert checked.code == 0, checked.err
    assert checked.out.startswith(f"{folder}: 12 documents")


def test_a_command_of_which_nothing_succeeds_tells_the_reason(in_folder):
    (in_folder / "theirs.trec").write_text("nonsense\n")
    answer = bench("retriever=run_file", "run_file.path=theirs.trec")

    assert answer.code == 1
    assert "failed: run_file(path=theirs.trec) on tiny: run theirs.trec has a problem" in answer.err
    assert answer.last_line == "outputs/default/grid.parquet"


def test_a_misspelt_verb_gets_the_nearest():
    assert "no verb 'lsit'; did you mean 'list'?" in bench("lsit", on=()).err
    assert bench("lsit", on=()).code == 2
    assert "no group 'retrievers'; did you mean 'retriever'?" in bench("list", "retrievers", on=()).err


def test_a_misspelt_switch_is_refused(in_folder):
    answer = bench("--mutlirun", "retriever=bm25,faiss")

    assert answer.code == 2
    assert "--mutlirun" in answer.err
    assert not any(in_folder.iterdir())


def test_the_folder_of_outputs_may_be_in_the_way(in_folder):
    (in_folder / "outputs").write_text("not a folder")

    answer = bench("retriever=bm25")

    assert answer.code == 1
    assert "Not a directory" in answer.err
    assert "Traceback" not in answer.err


def test_list_names_every_option_with_when_to_use_it():
    answer = bench("list", "reranker", "store", on=())

    assert answer.code == 0
    assert "  none" in answer.out
    assert "  faiss_hnsw" in answer.out
    assert "for over some 50,000 vectors" in answer.out
    assert "retriever" not in bench("list", "store", on=()).out.splitlines()


def test_cache_shows_what_it_holds_and_prunes_it(in_folder):
    bench("retriever=faiss", "k=1")

    answer = bench("cache", on=())
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == str(in_folder / "cache")
    assert "vectors         2 entries" in answer.out

    assert "entries unused for 0 days dropped" in bench("cache", "prune", "0", on=()).out
    assert "vectors         0 entries" in bench("cache", on=()).out
    assert bench("cache", "prune", "some", on=()).code == 2


def test_the_composed_configuration_can_be_looked_at(in_folder):
    answer = bench("--cfg", "job", "retriever=bm25", on=())

    assert answer.code == 0
    assert "bench.retrievers.bm25.BM25" in answer.out
    assert not any(in_folder.iterdir())
