"""What a case is tried on: every part of ours, found in the configuration and not listed, and small collections."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from tests.conftest import make_qrels, make_run

from bench.collection import Collection, Doc, Query
from bench.config import compose_config, conf_folder, options_of
from bench.evaluate import Evaluation, evaluate
from bench.fusion import Fusion
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.retrievers.bm25 import METHODS
from bench.retrievers.hybrid import Hybrid

each_measure = pytest.mark.parametrize("measure", list(MEASURES))
each_store = pytest.mark.parametrize("option", options_of("store"))
each_fusion = pytest.mark.parametrize("option", options_of("fusion"))
each_engine = pytest.mark.parametrize("engine", METHODS)
each_formula = pytest.mark.parametrize(
    ("engine", "method"), [(engine, method) for engine, methods in METHODS.items() for method in methods]
)


@functools.cache
def _composed(*overrides: str) -> DictConfig:
    cfg = compose_config(["analyzer=plain", "embedder=hashing", *overrides])
    second = "fusion.sides.second.retriever.embedder"
    if OmegaConf.select(cfg, second) is not None:
        # Another reading of the meaning that needs no model.
        hashing = {"_target_": "bench.embedders.hashing.Hashing", "dim": 256, "seed": 1}
        OmegaConf.update(cfg, second, hashing, merge=False)
    return cfg


def made(group: str, *overrides: str) -> Any:
    """The part that a group makes under these overrides."""
    return instantiate(copy.deepcopy(_composed(*overrides))[group], _convert_="all")


def store_of(option: str, **changes: Any) -> Any:
    """The store of an option, searched and built by one thread: small indexes are made soonest so."""
    threads = {"threads": 1} if option.startswith("faiss") else {}
    node = OmegaConf.load(conf_folder() / "store" / f"{option}.yaml")
    settled = {"seed": 0} if "seed" in node else {}
    return instantiate(OmegaConf.merge(node, settled, threads, changes), _convert_="all")


@functools.cache
def built(option: str) -> Any:
    """The index of that store over 300 vectors."""
    return store_of(option).build(unit_vectors(300))


@functools.cache
def fusion_of(option: str) -> Fusion:
    """The fusion of an option."""
    return hybrid_of(option).fusion


@functools.cache
def hybrid_of(option: str) -> Hybrid:
    """The hybrid retriever under the fusion of an option, over hashed vectors and an exact store."""
    hybrid: Hybrid = made("retriever", "retriever=hybrid", "store=exact", f"fusion={option}")
    return hybrid


@functools.cache
def reranker_of(option: str) -> Any:
    """The reranker of an option; models and a server are ones that cannot be had."""
    models = (f"{group}.model=nobody/nothing" for group in ("cross_encoder", "late_interaction"))
    nowhere = (*models, "endpoint.url=http://127.0.0.1:9/", "endpoint.model=none")
    return made("reranker", f"reranker={option}", *nowhere)


def collection_of(
    texts: Mapping[str, str],
    questions: Mapping[str, str] | None = None,
    judged: Mapping[str, Mapping[str, float]] | None = None,
) -> Collection:
    """A collection from texts by id."""
    return Collection(
        name="small",
        docs=tuple(Doc(id=doc, text=text) for doc, text in texts.items()),
        queries=tuple(Query(id=query, text=text) for query, text in (questions or {}).items()),
        qrels=Qrels.of(judged or {}),
    )


def written(
    folder: Path,
    texts: Mapping[str, str],
    questions: Mapping[str, str],
    judged: Mapping[str, Mapping[str, float]],
) -> Path:
    """The same in the files of a BEIR folder."""
    (folder / "qrels").mkdir(parents=True)
    for name, items in (("corpus", texts), ("queries", questions)):
        lines = (json.dumps({"_id": one, "text": text}, ensure_ascii=False) for one, text in items.items())
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    rows = (f"{query}\t{doc}\t{grade}\n" for query, docs in judged.items() for doc, grade in docs.items())
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return folder


def trec_lines(rankings: Mapping[str, Sequence[str] | Mapping[str, float]]) -> str:
    """Rankings, best first, or scores by document, as the lines of a run file."""
    lines = []
    for query, ranking in rankings.items():
        scored = ranking if isinstance(ranking, Mapping) else {d: -float(i) for i, d in enumerate(ranking)}
        lines += [f"{query} Q0 {doc} 1 {score!r} tag\n" for doc, score in scored.items()]
    return "".join(lines)


def evaluated(judged: Any, rankings: Any, *, ks: Sequence[int] = (5,), **asked: Any) -> Evaluation:
    """Every measure of rankings (best first, or scores by document) under judgements."""
    measures = list(MEASURES.values())
    return evaluate(make_run(rankings), make_qrels(judged), ks=ks, measures=measures, **asked)


def value(measure: str, k: int, judged: Any, ranking: Any, **asked: Any) -> float:
    """One measure of one ranking."""
    run, qrels = make_run({"q": ranking}), make_qrels({"q": judged})
    found = evaluate(run, qrels, ks=[k], measures=[MEASURES[measure]], **asked)
    return float(found.values[measure, k][0])


def unit_vectors(count: int, *, seed: int = 0, dim: int = 32) -> Any:
    """Vectors of length 1 in all directions, float32 [count, dim]."""
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
