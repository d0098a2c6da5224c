"""Our measures beside those that ir_measures takes from elsewhere: gdeval's own script, cwl_eval, trec_eval."""

from __future__ import annotations

import shutil

import ir_measures
import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.evaluate import evaluate
from bench.metrics import parse

KS = (1, 5, 20)


def made(seed, *, queries=60, docs=80, depth=40, top=4):
    """Judgements with grades from -2 and rankings without ties; queries have numbers for ids, as gdeval asks."""
    random = np.random.default_rng(seed)
    ids = [f"d{i}" for i in range(docs)]
    judged, ranked = {}, {}
    for query in map(str, range(1, queries + 1)):
        grades = random.integers(-2, top + 1, 25)
        grades[0] = 1
        judged[query] = dict(zip(random.permutation(ids)[:25].tolist(), grades.tolist(), strict=True))
        if random.random() > 0.1:
            length = int(random.integers(1, depth + 1))
            scores = random.permutation(1000)[:length] / 8
            ranked[query] = dict(zip(random.permutation(ids)[:length].tolist(), scores.tolist(), strict=True))
    return judged, ranked


def theirs(provider, measures, judged, ranked):
    """Their values by measure and query."""
    qrels = [ir_measures.Qrel(q, doc, grade) for q, docs in judged.items() for doc, grade in docs.items()]
    run = [ir_measures.ScoredDoc(q, doc, score) for q, docs in ranked.items() for doc, score in docs.items()]
    found = provider.iter_calc([ir_measures.parse_measure(name) for name in measures], qrels, run)
    return {(str(one.measure), one.query_id): float(one.value) for one in found}


def compare(names, provider, *, data, within, called=lambda name: name):
    """Every value of every answered query, ours and theirs."""
    judged, ranked = data
    values = theirs(provider, [called(name) for name in names], judged, ranked)
    for name in names:
        measure, k = parse(name)
        ours = evaluate(make_run(ranked), make_qrels(judged), ks=[k or 1000], measures=[measure], max_grade=4)
        for query, value in zip(ours.queries, ours.values[measure.key, k or 1000], strict=True):
            if query in ranked:
                expected = values[str(ir_measures.parse_measure(called(name))), query]
                assert value == pytest.approx(expected, abs=within), (name, query)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize("seed", [0, 1])
def test_err_and_ndcg_with_exponential_gain_are_those_of_gdeval_to_its_five_decimals(seed):
    names = [f"ERR@{k}" for k in KS] + [f"nDCG(dcg='exp-log2')@{k}" for k in KS]
    compare(names, ir_measures.gdeval, data=made(seed), within=5.1e-6)


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("rel", [1, 2])
def test_rbp_over_the_whole_ranking_is_that_of_cwl_eval(p, rel):
    name = f"RBP(p={p}, rel={rel})@1000"
    compare([name], ir_measures.cwl_eval, data=made(2), within=1e-12, called=lambda name: name.split("@")[0])


def test_bpref_is_that_of_ir_measures_at_every_level_of_relevance():
    judged, ranked = made(3)
    for rel in (1, 2, 3):
        enough = {query: grades for query, grades in judged.items() if max(grades.values()) >= rel}
        compare([f"Bpref(rel={rel})"], ir_measures.pytrec_eval, data=(enough, ranked), within=1e-12)


def test_the_share_that_is_judged_is_that_of_ir_measures():
    compare([f"Judged@{k}" for k in KS], ir_measures.judged, data=made(4), within=1e-12)
