"""What is asked wrongly: the nearest right name, exit code 2, and nothing written."""

import pytest
from tests.cli.program import OUR_PARTS, bench


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["retriver=bm25"], "no setting 'retriver'; did you mean 'retriever'?", id="group"),
        pytest.param(
            ["retriever=bm52"], "retriever=bm52: there is no such option; did you mean 'bm25'?", id="option"
        ),
        pytest.param(
            ["-m", "reranker=none,overlp"],
            "reranker=overlp: there is no such option; did you mean 'overlap'?",
            id="option of a sweep",
        ),
        pytest.param(["+experiment=k_vs_rerank"], "did you mean 'k_vs_reranker'?", id="experiment"),
        pytest.param(["bm25.k2=1"], "no setting 'bm25.k2'; did you mean 'bm25.k1'?", id="key"),
        pytest.param(
            ["embedder.dmi=8"],
            "no setting 'embedder.dmi'; did you mean 'embedder.dim'?",
            id="key of the option in use",
        ),
        pytest.param(
            ["-m", "retriever=bm25", "bm25.kl=1,2"],
            "no setting 'bm25.kl'; did you mean 'bm25.k1'?",
            id="key of a sweep",
        ),
        pytest.param(
            ["+bm25.k2=1"], "no setting 'bm25.k2'; did you mean 'bm25.k1'?", id="added key that nothing reads"
        ),
        pytest.param(["++dpeth=50"], "no setting 'dpeth'; did you mean 'depth'?", id="added key at the top"),
        pytest.param(
            ["++store.serach.efSearch=50"],
            "store has no setting 'serach'; did you mean 'search'?",
            id="added key of a part",
        ),
        pytest.param(["store=faiss_hnsw", "++store.search.efSaerch=50"], "efSearch", id="search setting"),
        pytest.param(
            ["bm25.engine=bm25", "retriever=bm25"], "bm25.engine='bm25'; did you mean 'bm25s'?", id="value"
        ),
        pytest.param(
            ["retriever=bm25", "bm25.k1=high"],
            "bm25.k1='high': a number above 0",
            id="value that is no number",
        ),
        pytest.param(
            ["collection.language=spansih"],
            "collection.language is 'spansih'; it can be auto, spanish",
            id="language",
        ),
        pytest.param(["collection.unknown=ignore"], "it can be error, keep, drop", id="policy"),
        pytest.param(["measures=[ndgc]"], "there is no measure 'ndgc'; did you mean 'ndcg'?", id="measure"),
        pytest.param(["measures=ndcg"], "a list of measures", id="one measure"),
        pytest.param(["measures=[]"], "a list of measures", id="no measure"),
        pytest.param(["k=0"], "k is a whole number from 1, or a list of them", id="k of nothing"),
        pytest.param(["k=five"], "k is a whole number from 1, or a list of them", id="k in words"),
        pytest.param(["k=[]"], "k is a whole number from 1, or a list of them", id="no k"),
        pytest.param(["k=[5,200]"], "k=200 is more than depth=100 candidates", id="k above the depth"),
        pytest.param(["depth=2.5"], "depth is a whole number from 1", id="depth"),
        pytest.param(["dry_run=yess"], "dry_run is true or false", id="switch"),
        pytest.param(
            ["timing=default", "timing.calls=many"], "timing.calls='many': a whole number from 1", id="timing"
        ),
        pytest.param(["name=../elsewhere"], "letters, digits, dot, underscore and hyphen only", id="name"),
        pytest.param(["-m", "name=a,b"], "a command writes one folder", id="two names"),
        pytest.param(["collection.path=nowhere"], "collection.path: there is no folder nowhere", id="folder"),
        pytest.param(["collection.path=???"], "collection.path", id="no folder"),
        pytest.param(["k=[1,"], "cannot be understood", id="grammar"),
        pytest.param(
            ["++store.search.nprobe=4"], "the index Flat has no such setting", id="nothing that can run"
        ),
    ],
)
def test_a_wrong_request_is_answered_with_what_is_right_and_writes_nothing(words, said, in_folder):
    answer = bench(*words)

    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err
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
