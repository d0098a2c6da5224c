"""Words and numbers of the page in both languages: the same facts, nothing forgotten in one of them."""

from __future__ import annotations

import re
import string

import numpy as np
import pytest

from bench.errors import BenchError
from bench.report.evidence_texts import EVIDENCE_TEXTS
from bench.report.sentences import answer_sentences, interaction_sentence, verdict_text
from bench.report.texts import TEXTS
from bench.report.words import Words
from bench.statistics.advice import advised_k
from bench.statistics.answer import Answer
from bench.statistics.findings import Figure, Interaction
from bench.statistics.overview import Overview, Reranked
from bench.statistics.resampling import Resamples
from bench.statistics.standings import Place, Standings
from bench.statistics.verdicts import verdict

EN, ES = Words("en"), Words("es")
FIGURE = Figure(mean=0.5, lo=0.25, hi=0.75, marks="~")
ALL = {**TEXTS, **EVIDENCE_TEXTS}


@pytest.mark.parametrize("name", ALL)
def test_a_text_is_there_in_both_languages_with_the_same_places_to_fill(name):
    english, spanish = ALL[name]
    assert english and spanish
    assert fields(english) == fields(spanish)


def test_no_text_has_two_meanings():
    assert not TEXTS.keys() & EVIDENCE_TEXTS.keys()


def test_a_language_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BenchError, match="no report in 'fr'; choose one of en, es"):
        Words("fr")


@pytest.mark.parametrize(
    ("said", "english", "spanish"),
    [
        (lambda w: w.number(0.61249), "0.612", "0,612"),
        (lambda w: w.number(None), "–", "–"),
        (lambda w: w.number(float("nan")), "–", "–"),
        (lambda w: w.number(-0.0001), "0.000", "0,000"),
        (lambda w: w.points(0.0421), "+4.2", "+4,2"),
        (lambda w: w.points(-0.0004), "+0.0", "+0,0"),
        (lambda w: w.span((-0.01, 0.25)), "−1.0 to +25.0", "−1,0 a +25,0"),
        (lambda w: w.ms(0.3712), "0.37", "0,37"),
        (lambda w: w.ms(12.34), "12.3", "12,3"),
        (lambda w: w.ms(1234.5), "1234", "1234"),
        (lambda w: w.ms(4.0, sign=True), "+4.00", "+4,00"),
        (lambda w: w.count(843.5, sign=True), "+844", "+844"),
        (lambda w: w.share(0.875), "88\u00a0%", "88\u00a0%"),
        (lambda w: w.p(0.0001), "< 0.001", "< 0,001"),
        (lambda w: w.equal_p(0.031), "= 0.031", "= 0,031"),
        (lambda w: w.figure(FIGURE), "0.500 (0.250–0.750)~", "0,500 (0,250–0,750)~"),
        (lambda w: w.figure(None), "–", "–"),
        (lambda w: w.measure("ndcg", 5), "nDCG@5", "nDCG@5"),
        (lambda w: w.measure("recall"), "R", "R"),
        (lambda w: w.tick(0.25), "0.25", "0,25"),
        (lambda w: w.listed(["a", "b", "c"]), "a, b and c", "a, b y c"),
        (lambda w: w.listed([]), "", ""),
    ],
)  # fmt: skip
def test_numbers_are_rounded_and_written_as_the_language_does(said, english, spanish):
    assert (said(EN), said(ES)) == (english, spanish)


def test_every_measure_has_a_line_about_it_and_how_it_is_read():
    for words in (EN, ES):
        assert len({words.about(name) for name in ("precision", "recall", "mrr", "ndcg", "complete")}) == 5
        assert words.about("rbp")
        assert words.reading("recall") != words.reading("ndcg")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("queries", [8, 30, 300])
def test_the_answer_says_the_same_numbers_in_both_languages(seed, queries):
    found = answer(seed, queries)
    english, spanish = answer_sentences(found, EN), answer_sentences(found, ES)
    assert len(english) == len(spanish) == 3
    for one, other in zip(english, spanish, strict=True):
        assert numbers(one) == numbers(other.replace(",", ".").replace("−", "-")), (one, other)


def test_nothing_to_compare_is_said_in_both():
    nothing = Answer(overview=None, advised=None, reranked=None, extra_ms=None)
    assert [len(answer_sentences(nothing, words)) for words in (EN, ES)] == [1, 1]


@pytest.mark.parametrize("kept", [0, 1, 2, 7])
def test_how_many_cannot_be_told_from_the_best_is_said_in_both(kept):
    found = standing(8, kept)
    english, spanish = (answer_sentences(found, words)[0] for words in (EN, ES))
    assert numbers(english) == numbers(spanish.replace(",", "."))
    assert [name in english for name in NAMES] == [name in spanish for name in NAMES]


def test_a_system_alone_has_nothing_to_be_compared_with():
    assert "stands alone" in answer_sentences(standing(1, 0), EN)[0]
    assert "está solo" in answer_sentences(standing(1, 0), ES)[0]


@pytest.mark.parametrize(("mean", "kind"), [(0.2, "better"), (-0.2, "worse"), (0.0, "no worse")])
def test_a_verdict_is_a_word_in_both(mean, kind):
    rng = np.random.default_rng(0)
    needs = [f"n{i}" for i in range(200)]
    found = verdict(rng.normal(mean, 0.03, 200), Resamples.of(needs), subject="x", measure="R@5")
    assert found.kind == kind
    assert verdict_text(found, EN) != verdict_text(found, ES)


@pytest.mark.parametrize(
    ("p", "word"), [(0.01, "more than chance"), (0.6, "not shown"), (None, "can't be tested")]
)
def test_whether_slices_differ_is_said_in_both(p, word):
    found = Interaction(key="type", p=p, corrected=p, among=2, alpha=0.05)
    english, spanish = interaction_sentence(found, EN), interaction_sentence(found, ES)
    assert word in english and "type" in spanish
    assert numbers(english) == numbers(spanish.replace(",", "."))


NAMES = [f"system-{chr(97 + i)}" for i in range(8)]


def standing(systems: int, kept: int) -> Answer:
    """So many systems, of which so many beside the first cannot be told from it."""
    places = tuple(
        Place(name, 0.9 - i / 20, 0.1, 0.5, can_be_best=i <= kept) for i, name in enumerate(NAMES[:systems])
    )
    found = Standings(
        measure="nDCG@5", places=places, queries=40, left_out=0, needs=40, winner=None, sentence=""
    )
    overview = Overview(
        collection="c", measure="nDCG@5", k=5, alpha=0.05, standings=found, intervals={}, worth_finding=0.05, behind=(),
        deciding="R", advice={}, reranked=(), references={},
    )  # fmt: skip
    return Answer(overview=overview, advised=None, reranked=None, extra_ms=None)


def answer(seed: int, queries: int) -> Answer:
    """An answer with an advice and a reranker, each as chance would have it."""
    rng = np.random.default_rng(seed)
    needs = [f"n{i}" for i in range(queries)]
    resamples = Resamples.of(needs)
    found = rng.uniform(0.2, 1, (queries, 1)) * np.array([0.6, 0.8 + seed / 25, 1.0])
    advice = advised_k({1: found[:, 0], 5: found[:, 1], 10: found[:, 2]}, resamples, measure="R")
    changed = verdict(
        rng.normal((seed - 2) / 30, 0.1, queries), resamples, subject="system-a", measure="nDCG@5"
    )
    base = standing(3, seed % 3)
    reranked = Reranked("system-b", "system-a", 0.5, 0.6, changed, 0.01, 1)
    overview = Overview(**{**vars(base.overview), "advice": {"system-a": advice}})
    return Answer(overview=overview, advised="system-a", reranked=reranked, extra_ms=12.34)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+(?:\.\d+)?", text))
