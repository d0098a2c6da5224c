"""The answer in sentences: in English those of the statistics, in Spanish made from the same facts."""

from __future__ import annotations

from bench.report.words import Words
from bench.statistics.advice import KAdvice, SmallerK
from bench.statistics.comparison import NAMED
from bench.statistics.findings import Answer, Interaction, Overview
from bench.statistics.intervals import FEWEST
from bench.statistics.verdicts import BETTER, NO_WORSE, UNDECIDED, WORSE, Evidence, Verdict


def answer_sentences(answer: Answer, words: Words) -> tuple[str, ...]:
    """One to three: what can be told from the best, which k, which reranker."""
    if words.lang == "en":
        return answer.sentences
    if answer.overview is None:
        return ("Ninguna consulta tiene valor de todos los sistemas: no hay nada que comparar.",)
    said = [_standing(answer.overview, words)]
    if answer.advice is not None:
        said.append(f"{answer.advised}: {_advice(answer.advice, words)}")
    if answer.reranked is not None:
        cost = (
            ""
            if answer.extra_ms is None
            else (f" Añade {words.number(answer.extra_ms, 1)} ms a la mediana de una llamada.")
        )
        said.append(f"{_verdict(answer.reranked.verdict, words)}{cost}")
    return tuple(said)


def verdict_text(verdict: Verdict, words: Words) -> str:
    """A verdict in a word or three."""
    return words(verdict.kind, epsilon=words.tick(verdict.evidence.epsilon))


def interaction_sentence(found: Interaction, words: Words) -> str:
    """Whether slices may be spoken of."""
    if found.corrected is None:
        return words("interaction_untested", key=found.key)
    name = "interaction_shown" if found.shown else "interaction_not"
    return words(name, key=found.key, p=words.equal_p(found.corrected), among=found.among)


def _standing(found: Overview, words: Words) -> str:
    first, *others = found.standings.places
    count = 1 + len(others)
    ahead = f"{first.system} tiene el {found.measure} más alto, {words.number(first.mean)}"
    even = [place.system for place in others if place.can_be_best]
    if not others:
        return f"{ahead}, y está solo: un barrido de dos o más tiene algo que comparar."
    if not even:
        return f"{ahead}, y se muestra que es el mejor de {count} sistemas."
    if len(even) == len(others):
        return f"{ahead}, pero ninguno de los {count} sistemas se distingue del mejor."
    which = words.listed(even) if len(even) <= NAMED else f"{len(even)} sistemas"
    verb = "se distingue" if len(even) == 1 else "se distinguen"
    return f"{ahead}; de {count} sistemas sólo {which} no {verb} de él."


def _advice(advice: KAdvice, words: Words) -> str:
    if not advice.smaller:
        return f"k={advice.largest} es el único probado: no puede decirse si basta con un k menor."
    below = [one for one in advice.smaller if one.k < (advice.k or advice.largest)]
    refused = _refused(advice, below[-1], words) if below else ""
    if advice.k is None:
        few = below[-1].evidence.interval is None
        return _too_few("qué k basta", below[-1].evidence, words) if few else f"Sin decidir: {refused}"
    if advice.k == advice.largest:
        return f"Tome k={advice.k}, el mayor de los probados: {refused} Uno mayor no se probó."
    taken = next(one for one in advice.smaller if one.k == advice.k)
    bound = words.number(-(taken.evidence.bound or 0.0), 4)
    enough = (
        f"Tome k={advice.k}: {_loses(advice, taken, words)}, y menos de {words.tick(taken.evidence.epsilon)} con "
        f"confianza del 95 % (por debajo de {bound}, {taken.evidence.needs} necesidades)."
    )
    return f"{enough} Con un k menor: {refused}" if refused else enough


def _loses(advice: KAdvice, one: SmallerK, words: Words) -> str:
    loss = words.number(one.loss)
    return f"{advice.measure}@{one.k} pierde {loss} frente a {advice.measure}@{advice.largest}"


def _refused(advice: KAdvice, one: SmallerK, words: Words) -> str:
    epsilon = words.tick(one.evidence.epsilon)
    if one.kind == WORSE:
        return f"{_loses(advice, one, words)}, más de {epsilon} con confianza del 95 %."
    bound = words.number(-(one.evidence.bound or 0.0), 4)
    return f"{_loses(advice, one, words)}, y no se descarta hasta {bound}. {_missing(one.evidence, words)}"


def _verdict(verdict: Verdict, words: Words) -> str:
    evidence, subject = verdict.evidence, verdict.subject
    if evidence.interval is None:
        return _too_few(f"si {subject} ayuda", evidence, words)
    lo, hi = (words.signed(end) for end in (evidence.interval.lo, evidence.interval.hi))
    seen = (
        f"{verdict.measure} cambia en {words.signed(evidence.difference)} (95 %: {lo} a {hi}, "
        f"{evidence.needs} necesidades)"
    )
    epsilon = words.tick(evidence.epsilon)
    if verdict.kind == UNDECIDED:
        return f"Está sin decidir si {subject} ayuda: {seen}. {_missing(evidence, words)}"
    if verdict.kind == NO_WORSE:
        return f"{subject} no es peor, dentro de {epsilon}; que sea mejor no se ha mostrado: {seen}."
    within = f", en menos de {epsilon}" if verdict.kind == WORSE and evidence.no_worse else ""
    return f"{subject} es {'mejor' if verdict.kind == BETTER else 'peor'}{within}: {seen}."


def _missing(evidence: Evidence, words: Words) -> str:
    if evidence.more is None:
        return ""
    lost = f"no más de {words.number(evidence.more.if_loss)}" if evidence.more.if_loss else "nada"
    return (
        f"Hacen falta unas {evidence.more.needs} consultas más, cada una con su propia necesidad: bastan, 4 de cada 5 "
        f"veces, si en verdad se pierde {lost}."
    )


def _too_few(what: str, evidence: Evidence, words: Words) -> str:
    said = f"Con {evidence.needs} necesidades no puede decirse {what}: {FEWEST} es lo mínimo. "
    return f"{said}{_missing(evidence, words)}".strip()
