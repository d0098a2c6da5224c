"""Stress sets: what each stress does to a question, what it leaves alone, and what it costs."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from tests.cli.program import bench, grid
from tests.conftest import make_qrels

from bench.across import agreement, stress_losses
from bench.api import load
from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.stress import STRESSES, another_address, no_accents, no_stopwords, stressed, typos
from bench.text.address import address_of, readdressed

spanish = st.text("aábcdeéfghiíjklmnñoópqrstuúvwxyz ÁÉÑ¿?-302", max_size=80)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("¿Dónde está el año?", "¿Donde esta el año?"),
        ("ÁRBOL Ñandú pingüino", "ARBOL Ñandu pinguino"),
        ("ação й", "acao й"),
    ],
)
def test_accents_go_and_the_letter_ene_stays(text, bare):
    assert no_accents(text) == bare


@given(spanish)
def test_typos_change_no_length_no_first_letter_no_short_word_and_no_digit(text):
    hit = typos(text)

    assert len(hit) == len(text)
    for before, after in zip(text.split(), hit.split(), strict=True):
        assert before[0] == after[0]
        assert len(before) > 3 or before == after
        changed = [a for a, b in zip(before, after, strict=True) if a != b]
        assert all(letter.isalpha() for letter in changed)
    assert typos(text) == hit


def test_about_one_letter_in_eight_is_mistyped_by_a_neighbouring_key():
    word = "x" + "g" * 8000

    hit = typos(word)

    assert 900 < sum(letter != "g" for letter in hit[1:]) < 1100
    assert set(hit[1:]) == set("gfhtyvb")
    assert typos(word + "g") != hit + typos(word + "g")[-1]


def test_a_mistyped_capital_is_a_capital_and_an_accent_goes_with_its_letter():
    assert set(typos("X" + "Ñ" * 500)[1:]) <= set("ÑLPOK")
    assert set(typos("x" + "á" * 500)[1:]) <= set("áqwsz")


@pytest.mark.parametrize(
    ("text", "tu", "usted", "vos"),
    [
        ("¿Me lo recogéis?", "¿Me lo recoges?", "¿Me lo recoge?", "¿Me lo recogés?"),
        ("¿Podéis enviar?", "¿Puedes enviar?", "¿Puede enviar?", "¿Podés enviar?"),
        ("¿Os lo puedo mandar?", "¿Te lo puedo mandar?", "¿Se lo puedo mandar?", "¿Te lo puedo mandar?"),
        ("os pedí vuestras gafas", "te pedí tus gafas", "le pedí sus gafas", "te pedí tus gafas"),
        ("¿me cobrasteis ya?", "¿me cobraste ya?", "¿me cobró ya?", "¿me cobraste ya?"),
        (
            "¿cobraréis o cobraríais?",
            "¿cobrarás o cobrarías?",
            "¿cobrará o cobraría?",
            "¿cobrarás o cobrarías?",
        ),
        ("¿qué me decís vosotros?", "¿qué me dices tú?", "¿qué me dice usted?", "¿qué me decís vos?"),
        (
            "¿tú tienes tu tienda?",
            "¿tú tienes tu tienda?",
            "¿usted tiene su tienda?",
            "¿vos tenés tu tienda?",
        ),
        ("¿TENÉIS TIENDA?", "¿TIENES TIENDA?", "¿TIENE TIENDA?", "¿TENÉS TIENDA?"),
        ("¿OS LO PAGO?", "¿TE LO PAGO?", "¿SE LO PAGO?", "¿TE LO PAGO?"),
        ("¿Vos sabés?", "¿Tú sabes?", "¿Usted sabe?", "¿Vos sabés?"),
        ("decidme, ¿sois de aquí?", "dime, ¿eres de aquí?", "dígame, ¿es de aquí?", "decime, ¿sos de aquí?"),
    ],
)
def test_a_question_is_put_to_another(text, tu, usted, vos):
    assert readdressed(text, "tú") == tu
    assert readdressed(text, "usted") == usted
    assert readdressed(text, "vos") == vos


@pytest.mark.parametrize(
    "text",
    [
        "¿se puede devolver?",
        "seis países, en París",
        "veintiséis o dieciséis jerséis y bonsáis",
        "¿Cuánto tardan y quién paga?",
        "I need an invoice",
        "",
    ],
)
def test_a_question_that_addresses_nobody_stays_as_it_is(text):
    assert address_of(text) is None
    assert another_address(text) == text


def test_another_address_is_never_the_same():
    for text in ("¿Vos sabés cuánto cuesta?", "¿puedes venir?", "¿podéis venir?", "¿tienes pilas?"):
        assert another_address(text) != text


def test_stop_words_go_and_never_all_that_there_is():
    assert (
        no_stopwords("¿cuánto tarda un envío a las islas?", language="spanish")
        == "¿cuánto tarda envío islas?"
    )
    assert no_stopwords("¿y para mí?", language="spanish") == "¿y para mí?"
    assert no_stopwords("is it in the box", language="english") == "box"


def collection_of(*texts: str) -> Collection:
    queries = tuple(Query(id=f"q{i}", text=text, metadata={"need": "n"}) for i, text in enumerate(texts))
    return Collection(
        name="c", docs=(Doc(id="d", text="d"),), queries=queries, qrels=make_qrels({"q0": {"d": 1.0}})
    )


@pytest.mark.parametrize("stress", STRESSES)
def test_a_stress_changes_texts_name_and_notes_and_nothing_else(stress):
    before = collection_of(
        "¿me recogéis la garantía en casa o la devolución?", "I want to see the price of it, how much is it"
    )
    after = stressed(before, stress, language="spanish")

    assert after.name == f"c~{stress}"
    assert after.notes[-1].startswith(f"stress={stress}: ")
    assert after.queries[0].text != before.queries[0].text
    assert after.queries_digest != before.queries_digest
    assert (after.docs, after.qrels) == (before.docs, before.qrels)
    assert [query.metadata for query in after.queries] == [query.metadata for query in before.queries]
    assert stressed(before, "none", language="spanish") is before


@pytest.mark.parametrize("stress", STRESSES)
def test_to_compose_letters_is_no_stress(stress):
    apart = (
        "I\u0301N 302"  # the letter and its accent apart, and nothing that a stress but no_accents changes
    )
    after = stressed(collection_of(apart), stress, language="spanish")

    changed = stress == "no_accents"
    assert (after.queries[0].text != apart) == changed
    assert after.notes[-1] == f"stress={stress}: {int(changed)} of 1 questions are changed by it"


def test_a_question_in_the_other_language_loses_the_stop_words_of_its_own():
    after = stressed(collection_of("how much is it for the island"), "no_stopwords", language="spanish")
    assert after.queries[0].text == "how much island"


@pytest.mark.parametrize(
    ("stress", "language", "said"),
    [
        ("typo", "spanish", "stress=typo; did you mean 'typos'"),
        ("no_stopwords", None, "there are no stop words for the language of these"),
        ("tu_usted_vos", "english", "is for Spanish questions"),
    ],
)
def test_a_stress_that_is_not_to_be_had_is_refused(stress, language, said):
    with pytest.raises(BenchError, match=said):
        stressed(collection_of("a"), stress, language=language)


def test_a_stress_that_does_not_suit_is_skipped_and_the_others_run(in_folder):
    answer = bench(
        "-m", "retriever=bm25,faiss", "collection.language=en", "stress=none,tu_usted_vos,upper", "k=[1,5]"
    )

    assert answer.code == 0, answer.err
    cells = grid()
    assert len(cells) == 12
    assert set(zip(cells["collection"], cells["status"], strict=True)) == {
        ("tiny", "ok"),
        ("tiny~tu_usted_vos", "skipped"),
        ("tiny~upper", "ok"),
    }
    skipped = cells[cells["status"] == "skipped"]
    assert skipped["reason"].str.contains("is for Spanish questions").all()
    assert bench("retriever=bm25", "collection.language=en", "stress=tu_usted_vos").code == 2


def cell(collection: str, ndcg: float, **more: object) -> dict[str, object]:
    usual = {
        "status": "ok", "system": "bm25", "system_id": "s", "k": 5, "seed": 0,
        "corpus_digest": "c", "qrels_digest": "q",
    }  # fmt: skip
    return {**usual, "collection": collection, "ndcg": ndcg, **more}


def test_the_loss_stands_beside_the_plain_figure():
    grid = pd.DataFrame(
        [
            cell("a~b", 0.8), cell("a~b~typos", 0.6), cell("a~b~upper", 0.9),
            cell("a~b~typos", 0.1, status="failed"), cell("other~typos", 0.5),
            cell("a~b~typos", 0.3, qrels_digest="of other judgements"),
        ]
    )  # fmt: skip
    losses = stress_losses(grid)

    assert losses[["collection", "system", "k", "stress"]].to_numpy().tolist() == [
        ["a~b", "bm25", 5, "typos"],
        ["a~b", "bm25", 5, "upper"],
    ]
    assert losses["loss"].tolist() == pytest.approx([0.2, -0.1])
    assert losses["lost"].tolist() == pytest.approx([0.25, -0.125])


def test_agreement_is_kendalls_tau_of_the_systems_that_two_collections_share():
    values = {"a": [0.1, 0.2, 0.3, 0.4], "b": [0.1, 0.3, 0.2, 0.4], "c": [0.4, 0.3]}
    rows = [
        cell(name, ndcg, system=f"s{i}", system_id=f"s{i}")
        for name, column in values.items()
        for i, ndcg in enumerate(column)
    ]
    rows += [{**row, "k": 1, "ndcg": 1 - row["ndcg"]} for row in rows if row["collection"] == "b"]
    rows.append(cell("a", 0.9, system="s9", system_id="s9", status="failed"))

    taus = agreement(pd.DataFrame(rows))

    assert list(taus) == list(taus.index) == ["a", "b", "c"]
    assert taus.loc["a", "b"] == pytest.approx(kendalltau(values["a"], values["b"]).statistic)
    assert taus.loc["a", "c"] != taus.loc["a", "c"]


def test_a_sweep_over_stresses_has_a_loss_for_each(in_folder):
    answer = bench("-m", "retriever=bm25", "stress=none,typos,upper", "k=[1,5]")

    assert answer.code == 0, answer.err
    assert set(grid()["collection"]) == {"tiny", "tiny~typos", "tiny~upper"}
    told = r"what a stress costs, tiny +nDCG@5 +typos +upper *\n.*\n +bm25 +\S+ +-0\.\d{3} +[+]0\.000"
    assert re.search(told, answer.out)
    losses = stress_losses(load("outputs/default").grid, measure="recall")
    assert list(losses["stress"]) == ["typos", "upper"] * 2
    assert losses.query("stress == 'upper'")["loss"].tolist() == [0, 0]  # BM25's words are in lower case
    assert losses.query("stress == 'typos'")["loss"].gt(0).all()
