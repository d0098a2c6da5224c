"""The numbers of a grid told to trackers: which runs they are, and that MLflow and Weights & Biases hold them."""

from __future__ import annotations

import importlib.util
import json
import struct

import pytest
from tests.cli.program import bench, grid

from bench import tracking
from bench.errors import BenchError, Unavailable
from bench.tracking import Mlflow, Nowhere, WeightsAndBiases, refuse_several, track, tracked

SWEEP = ("-m", "retriever=bm25", "reranker=none,overlap", "k=[1,5]", "budget=[50]")


def logged(content):
    """The records of a log in LevelDB's form: blocks of 32 KiB, a record in one piece or several."""
    at, record = 7, b""
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", content[at + 4 : at + 7])
        record += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


@pytest.fixture
def cells(in_folder):
    assert bench(*SWEEP).code == 0
    return grid()


def test_a_system_is_one_run_with_every_number_at_its_k(cells, in_folder):
    bare, reranked = tracked(cells, folder=in_folder / "default")
    row = cells[(cells["system"] == "bm25") & (cells["k"] == 5)].iloc[0]

    assert (bare.name, reranked.name) == ("bm25 on tiny", "bm25+overlap on tiny")
    assert bare.at[5]["ndcg"] == row["ndcg"] == bare.named["ndcg_at_5"]
    assert bare.at[5]["ndcg_high"] == row["ndcg_high"]
    assert set(bare.at) == {1, 5}
    assert "recall_within_50_tokens" in bare.named
    assert bare.parameters["retriever"] == "bm25"
    assert bare.id != reranked.id
    assert bare.id == tracked(cells, folder=in_folder / "default")[0].id


def test_a_failed_cell_is_told_with_its_reason_and_no_number(cells, in_folder):
    wrong = cells.assign(status="failed", reason="no such model")

    (run, _) = tracked(wrong, folder=in_folder)

    assert (run.at, run.named, run.reasons) == ({}, {}, ("no such model",))


def test_a_tracker_that_fails_loses_no_sweep(cells, in_folder):
    class Broken(Nowhere):
        def track(self, runs, *, folder):
            raise OSError("the disk is full\nand more")

    assert track(cells, Nowhere(), folder=in_folder) == []
    assert track(cells, Broken(), folder=in_folder) == [
        "not tracked: OSError: the disk is full (the same command tries again, and runs nothing)"
    ]


def test_a_command_is_tracked_in_one_place():
    assert refuse_several([Nowhere(), Nowhere()]) == Nowhere()
    with pytest.raises(BenchError, match="tracked in one place"):
        refuse_several([Nowhere(), Mlflow()])


@pytest.mark.parametrize(("option", "library"), [("mlflow", "mlflow"), ("wandb", "wandb")])
def test_without_the_library_nothing_is_done(option, library, in_folder, monkeypatch):
    real = importlib.util.find_spec

    def found(name, package=None):
        return None if name == library else real(name, package)

    monkeypatch.setattr(tracking.importlib.util, "find_spec", found)

    answer = bench("retriever=bm25", f"tracking={option}")

    assert (answer.code, answer.out) == (2, "")
    assert f"the library {library} is not installed: pip install 'bench[{option}]'" in answer.err
    assert not list(in_folder.glob("outputs"))


def test_a_server_that_does_not_answer_is_told_before_any_work_without_its_password():
    pytest.importorskip("mlflow")
    with pytest.raises(Unavailable, match=r"tracking.uri=http://127.0.0.1:9: no MLflow server answers"):
        Mlflow(uri="http://me:secret@127.0.0.1:9").check()


def test_a_mode_that_there_is_not_is_refused():
    with pytest.raises(BenchError, match=r"tracking.mode='on': one of offline, online"):
        WeightsAndBiases(mode="on")


@pytest.mark.slow
def test_mlflow_holds_the_numbers_of_the_grid_and_a_second_command_makes_no_second_run(
    in_folder, monkeypatch
):
    client_of = pytest.importorskip("mlflow.tracking").MlflowClient
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (in_folder / "mlruns").as_uri()
    words = (*SWEEP, "tracking=mlflow", f"tracking.uri='{uri}'")

    first, second = bench(*words), bench(*words)

    assert first.code == second.code == 0
    assert "tracked: MLflow: experiment 'default', 2 runs" in first.err
    client = client_of(tracking_uri=uri)
    runs = client.search_runs([client.get_experiment_by_name("default").experiment_id])
    by_name = {run.info.run_name: run for run in runs}
    assert set(by_name) == {"bm25 on tiny", "bm25+overlap on tiny"}
    assert len(runs) == 2
    run, rows = by_name["bm25 on tiny"], grid()
    at = rows[rows["system"] == "bm25"].set_index("k")
    told = {one.step: one.value for one in client.get_metric_history(run.info.run_id, "recall")}
    assert told == {1: at.loc[1, "recall"], 5: at.loc[5, "recall"]}
    assert run.data.metrics["ndcg_at_5"] == at.loc[5, "ndcg"]
    assert run.data.params["retriever"] == "bm25"
    assert run.data.tags["bench.corpus_digest"] == at.loc[5, "corpus_digest"]
    assert run.info.status == "FINISHED"


@pytest.mark.slow
def test_weights_and_biases_writes_a_run_a_system_below_the_folder_and_sends_nothing(in_folder):
    pytest.importorskip("wandb")
    records = pytest.importorskip("wandb.proto.wandb_internal_pb2")

    answer = bench(*SWEEP, "tracking=wandb")

    assert answer.code == 0
    assert "tracked: Weights & Biases: project 'bench', 2 runs" in answer.err
    files = sorted((in_folder / "outputs" / "default" / "wandb").glob("offline-run-*/*.wandb"))
    assert len(files) == 2
    rows, told = grid(), {}
    for file in files:
        name, numbers = "", []
        for data in logged(file.read_bytes()):
            record = records.Record()
            record.ParseFromString(data)
            name = record.run.display_name or name
            if record.HasField("history"):
                numbers.append(
                    {
                        (one.key or one.nested_key[0]): json.loads(one.value_json)
                        for one in record.history.item
                    }
                )
        told[name] = {int(one["k"]): one["recall"] for one in numbers}
    at = rows[(rows["system"] == "bm25") & rows["k"].notna()].set_index("k")["recall"]
    assert told["bm25 on tiny"] == {1: at[1], 5: at[5]}
