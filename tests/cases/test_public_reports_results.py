"""Case 25 and its kin: results that no longer hold, settings that change nothing, failures and times that mislead."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from tests.cases.everything import (
    built,
    each_store,
    fusion_of,
    hybrid_of,
    options_of,
    reranker_of,
    store_of,
)
from tests.cases.parts import WHERE
from tests.cli.program import TINILY, bench, copy_of_tiny, grid, on, replace_in

from bench.collection import Collection, Doc, Query
from bench.config import compose_config, conf_folder
from bench.errors import BenchError, Unsuitable
from bench.identity import identity, parts_of
from bench.job import job_of
from bench.loading import Collections
from bench.qrels import Qrels
from bench.retrievers.bm25 import BM25
from bench.retrievers.function import Function
from bench.retrievers.http import Http
from bench.text.analyzer import Analyzer
from bench.timing import CALLS_NEEDED, TIMINGS, WARM_UP, Call, Clock, latency, percentiles

OURS = ("--config-dir", str(Path(__file__).parent / "conf"))


# Case 25: a cell was reused although a text, a grade or a setting was another.

STATE = {
    "docs": (Doc(id="a", title="Plazo", text="treinta días"), Doc(id="b", text="coste")),
    "queries": (Query(id="q", text="plazo"), Query(id="r", text="coste")),
    "qrels": Qrels.of({"q": {"a": 1.0, "b": 0.0}}, parts={"q": {"base": ["a"]}}),
}
CHANGES = {
    "one character of a chunk": {"docs": (Doc(id="a", title="Plazo", text="treinta díaz"), STATE["docs"][1])},
    "a blank more": {"docs": (Doc(id="a", title="Plazo", text="treinta  días"), STATE["docs"][1])},
    "a case": {"docs": (Doc(id="a", title="plazo", text="treinta días"), STATE["docs"][1])},
    "a word from title to text": {"docs": (Doc(id="a", text="Plazo treinta días"), STATE["docs"][1])},
    "an id": {"docs": (Doc(id="A", title="Plazo", text="treinta días"), STATE["docs"][1])},
    "a chunk less": {"docs": STATE["docs"][:1]},
    "one character of a question": {"queries": (Query(id="q", text="plazo?"), STATE["queries"][1])},
    "two questions exchanged": {"queries": (Query(id="q", text="coste"), Query(id="r", text="plazo"))},
    "a question less": {"queries": STATE["queries"][:1]},
    "one grade": {"qrels": Qrels.of({"q": {"a": 2.0, "b": 0.0}}, parts={"q": {"base": ["a"]}})},
    "the last digit of a grade": {
        "qrels": Qrels.of({"q": {"a": 1.0 + 2**-52, "b": 0.0}}, parts={"q": {"base": ["a"]}})
    },
    "a zero less": {"qrels": Qrels.of({"q": {"a": 1.0}}, parts={"q": {"base": ["a"]}})},
    "a part": {"qrels": Qrels.of({"q": {"a": 1.0, "b": 0.0}}, parts={"q": {"rest": ["a"]}})},
    "no parts": {"qrels": Qrels.of({"q": {"a": 1.0, "b": 0.0}})},
    "the scale of grades": {"max_grade": 3},
}


def state_of(collection):
    return {
        "corpus": collection.corpus_digest,
        "queries": collection.queries_digest,
        "qrels": collection.qrels_digest,
    }


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_collection_changes_the_fingerprint_that_its_results_are_kept_by(change):
    before = state_of(Collection(name="shop", **STATE))
    after = state_of(Collection(name="shop", **{**STATE, **CHANGES[change]}))
    touched = {"docs": "corpus", "queries": "queries", "qrels": "qrels", "max_grade": "qrels"}
    (field,) = CHANGES[change]
    assert {what for what in before if before[what] != after[what]} == {touched[field]}


def test_the_order_in_files_changes_no_fingerprint():
    turned = Collection(
        name="shop",
        docs=STATE["docs"][::-1],
        queries=STATE["queries"][::-1],
        qrels=Qrels(("q", "q"), ("b", "a"), np.array([0.0, 1.0]), {"q": {"base": ("a",)}}),
    )
    assert state_of(turned) == state_of(Collection(name="shop", **STATE))


def test_a_table_of_results_on_two_states_of_the_judgements_is_refused(in_folder):
    tiny = copy_of_tiny(in_folder)
    assert bench("retriever=bm25", "k=5", "name=before", on=on(tiny)).code == 0
    replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t1")
    assert bench("retriever=bm25", "k=5", "name=after", on=on(tiny)).code == 0

    answer = bench("compare", "outputs/before", "outputs/after", on=())

    assert answer.code == 2
    assert answer.out == ""
    assert "are others in outputs/before than in outputs/after" in answer.err


# What cannot change a ranking, each with its reason, so that nothing else is left out of an identity.
CHANGES_NOTHING = {
    ("Faiss", "threads"): "results are equal whatever the number of threads",
    ("Dense", "library"): "says which stores are allowed",
    **{
        (part, name): "how it is computed, not what"
        for part in (
            "SentenceTransformerEmbedder",
            "E5Small",
            "AllMiniLM",
            "CrossEncoderScorer",
            "LateInteractionScorer",
            "UseMultilingual",
        )
        for name in ("device", "batch_size", "batch_tokens", "threads")
    },
    ("SentenceTransformerEmbedder", "revision"): "the commit it comes to is in the identity",
    ("CrossEncoderScorer", "revision"): "the commit it comes to is in the identity",
    ("LateInteractionScorer", "revision"): "the commit it comes to is in the identity",
    ("Model2Vec", "revision"): "the commit it comes to is in the identity",
    **{
        ("OpenAICompatible", name): "how it is asked, not what"
        for name in ("key_env", "batch_size", "timeout_seconds", "retries")
    },
    **{
        ("EndpointScorer", name): "how it is asked, not what"
        for name in ("key_env", "timeout_seconds", "retries")
    },
    **{("Http", name): "how patiently it is asked" for name in ("timeout", "retries")},
    ("RunFile", "path"): "what the file holds is in the identity",
}
OTHERWISE = {
    "factory": "HNSW8",
    "nlist": 7,
    "construction": {"efConstruction": 9},
    "search": {"efSearch": 99},
    "engine": "rank_bm25",
    ("BM25", "method"): "bm25+",
    ("Http", "method"): "GET",
    ("E5Small", "max_length"): 99,
    ("EndpointScorer", "api"): "tei",
    ("EndpointScorer", "batch_size"): 7,
    "delta": 0.25,
    "language": "english",
    "normalise": "min_max",
    "dtype": "bfloat16",
    "activation": "sigmoid",
    "backend": "onnx",
    "model": "somebody/else",
    "query_prompt": "another: ",
    "document_prompt": "another: ",
    "query_prefix": "another: ",
    "document_prefix": "another: ",
    "max_length": 99,
    "dimensions": 99,
    "url": "http://127.0.0.1:9/{query}",
    "body": {"q": "{query}", "n": "{depth}"},
    "hits": "/results",
    "hit_id": "/key",
    "hit_score": "/points",
    "headers": {"X-Which": "other"},
    "version": "2",
    "unknown": "drop",
    "duplicates": "keep-first",
    "function": "json:dumps",
}
"""Another value for a setting that is no number and no truth."""


def parts():
    """Every store and embedder that an option makes, and every other part whose settings change a ranking."""
    for option in options_of("store"):
        yield store_of(option)
    for path in sorted((conf_folder() / "embedder").glob("*.yaml")):
        if path.stem != "sentence_transformer":  # of which the others are options
            yield instantiate(OmegaConf.load(path))
    for option in ("rrf", "weighted"):
        yield from (fusion_of(option), *parts_of(hybrid_of(option)))
    for option in ("overlap", "cross_encoder", "late_interaction", "endpoint"):
        yield from parts_of(reranker_of(option))
    spanish = Analyzer(language="spanish")
    yield from (spanish, BM25(analyzer=spanish), BM25(analyzer=spanish, method="bm25+"))
    yield from (Http(url="http://127.0.0.1:9/search"), Function(function="json:loads"))


def other(part, name, value):
    if (type(part).__name__, name) in OTHERWISE:
        return OTHERWISE[type(part).__name__, name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value / 2 or 0.25
    return OTHERWISE[name]


def test_every_setting_of_every_part_is_in_its_identity_or_said_to_change_nothing():
    settings, tried = set(), set()
    for part in {repr(part): part for part in parts()}.values():
        for field in dataclasses.fields(part):
            setting, value = (type(part).__name__, field.name), getattr(part, field.name)
            # Parts inside are tried by themselves.
            if dataclasses.is_dataclass(value) or field.name == "sides" or setting in CHANGES_NOTHING:
                continue
            settings.add(setting)
            with contextlib.suppress(BenchError):  # a value that does not suit the other settings of this one
                changed = dataclasses.replace(part, **{field.name: other(part, field.name, value)})
                if changed == part:  # it has that value already, or none of its own
                    continue
                assert identity(changed) != identity(part), setting
                tried.add(setting)
    assert settings == tried
    assert {("Faiss", "search"), ("BM25", "k1"), ("Side", "weight"), ("PairReranker", "depth")} <= tried


NO_FIGURE_HANGS_ON = {
    "name",
    "label",
    "ks",
    "budgets",
    "measures",
    "timing",
    "options",
    "settings",
    "overrides",
    "cache_dir",
    "fresh",
}
"""Of a job: how it is called, where it is kept, what it is asked beside its rankings."""


def test_a_job_is_another_one_where_a_setting_can_change_its_rankings_and_only_there():
    job = job_of(compose_config(["retriever=dense", "store=exact", *TINILY]), load=Collections())
    changed = {
        "system": dataclasses.replace(job.system, depth=50),
        "collection": job.collection.limited(3),
        "seed": 1,
    }
    assert {field.name for field in dataclasses.fields(job)} == NO_FIGURE_HANGS_ON | set(changed)
    for name, value in changed.items():
        assert dataclasses.replace(job, **{name: value}).id != job.id, name
    for name in NO_FIGURE_HANGS_ON:
        assert dataclasses.replace(job, **{name: None}).id == job.id, name


@each_store
def test_a_setting_of_the_search_is_what_the_index_says_it_is(option, tmp_path):
    built(option).save(tmp_path)
    for name in store_of(option).search:
        for asked in (3, 64, 10_000):
            parameters = store_of(option, search={name: asked}).open(tmp_path).parameters()
            assert parameters[name] == (min(asked, parameters["nlist"]) if name == "nprobe" else asked)
    with pytest.raises(Unsuitable, match="nproeb"):
        store_of(option, search={"nproeb": 64}).check(600)


def test_what_was_asked_and_what_the_index_did_stand_side_by_side_in_the_record(in_folder):
    answer = bench("store=faiss_ivf", "++store.search.nprobe=64", "k=3")

    assert answer.code == 0, answer.err
    (cell,) = grid().to_dict("records")
    parameters = json.loads(cell["parameters"])
    assert parameters["store"]["search"]["nprobe"] == 64
    assert parameters["read_back"]["nprobe"] == parameters["read_back"]["nlist"] == 1


# A sweep of which parts had failed ended as if nothing had happened.


def test_whatever_step_fails_stands_in_the_grid_with_its_reason_and_the_sweep_ends_non_zero(in_folder):
    # Not one succeeds, which must be told like anything else.
    answer = bench("-m", *OURS, "retriever=faulty", f"retriever.embedder.where={','.join(WHERE)}", "k=[1,3]")

    assert answer.code == 1
    assert answer.last_line == "outputs/default/grid.parquet"
    cells = grid()
    assert set(cells["status"]) == {"failed"}
    assert cells[["ndcg", "recall", "latency_p50_ms"]].isna().all(axis=None)
    for step in WHERE:
        mine = cells[cells["system"] == f"faulty(where={step})"]
        assert mine["k"].tolist() == [1, 3]
        assert set(mine["reason"]) == {f"RuntimeError: out of order in {step}"}
        assert f"failed: faulty(where={step}) on tiny: RuntimeError: out of order in {step}" in answer.err


# The first system timed paid for the warm-up of all, and percentiles came from other calls.


def noting(log, key, queries, calls):
    return Call(queries, lambda position: log.append((key, position)), Clock(), calls, 60.0)


def test_every_system_is_warmed_up_untimed_and_none_has_its_rounds_before_another():
    log, queries = [], [f"q{i}" for i in range(5)]
    keys = ("one", "two", "three")
    samples, failed = latency({key: noting(log, key, queries, 20) for key in keys}, seed=0)
    assert not failed
    assert log[: 3 * WARM_UP] == [(key, position) for key in keys for position in range(WARM_UP)]
    rounds = [log[start : start + 15] for start in range(3 * WARM_UP, len(log), 15)]
    assert len(rounds) == 4
    for one in rounds:
        assert sorted(one) == sorted((key, position) for key in keys for position in range(5))
        assert [key for key, _ in one] != sorted(key for key, _ in one)
    assert len({tuple(one) for one in rounds}) == 4
    for key in keys:
        assert len(samples[key]) == 20
        timed = [position for name, position in log[3 * WARM_UP :] if name == key]
        assert samples[key]["query_id"].to_pylist() == [queries[position] for position in timed]


def timings(totals):
    rows = [{"query_id": f"q{i}", "round": 0, "total_ms": total} for i, total in enumerate(totals)]
    return pa.Table.from_pylist(rows, TIMINGS)


def test_percentiles_are_those_of_the_calls_that_were_made():
    totals = np.random.default_rng(0).permutation(np.arange(1.0, 401))
    found = percentiles(timings(totals))
    assert found["latency_p50_ms"] == pytest.approx(200.5)
    assert found["latency_p95_ms"] == pytest.approx(np.percentile(totals, 95))
    assert found["latency_p99_ms"] == pytest.approx(np.percentile(totals, 99))


@pytest.mark.parametrize(("percentile", "needed"), CALLS_NEEDED.items())
def test_a_percentile_of_too_few_calls_is_not_told(percentile, needed):
    column = f"latency_{percentile}_ms"
    assert column in percentiles(timings(np.ones(needed)))
    assert column not in percentiles(timings(np.ones(needed - 1)))
    assert (CALLS_NEEDED["p95"], CALLS_NEEDED["p99"]) == (72, 368)
