import unicodedata

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from bench.errors import BenchError
from bench.identity import identity
from bench.text.analyzer import Analyzer
from bench.text.language import detect

SPANISH, ENGLISH, PLAIN = (Analyzer(language=language) for language in ("spanish", "english", "plain"))


def terms(text, analyzer=SPANISH):
    return analyzer.analyze([text])[0]


@pytest.mark.parametrize(
    "forms",
    [
        "garantía garantías garantia garantias GARANTÍA Garantias GARANTI\u0301A",
        "devolución devolucion devoluciones DEVOLUCIÓN",
        "pingüino pinguino PINGÜINOS",
        "código codigo códigos CÓDIGOS",
        "año AÑO AN\u0303O",
        "Barça BARCA",
    ],
)
def test_all_forms_of_a_word_share_a_term(forms):
    assert len(set(terms(forms))) == 1


def test_snowball_alone_tells_a_word_with_its_accent_from_one_without():
    assert terms("garantía garantia", Analyzer(language="spanish", fold=False)) == ["garant", "garanti"]


def test_the_tilde_of_n_is_no_accent():
    assert terms("año ano caña cana") == ["año", "ano", "cañ", "can"]


def test_a_tilde_typed_after_its_letter_is_that_letter():
    assert terms("an\u0303o") == terms("año")
    assert terms("an\u0303o", PLAIN) == ["año"]


@pytest.mark.parametrize("analyzer", [SPANISH, ENGLISH, PLAIN])
def test_codes_and_numbers_are_kept(analyzer):
    assert terms("DV-14 (v2.1) art. 3.º 2024", analyzer) == ["dv", "14", "v2", "1", "art", "3", "º", "2024"]


def test_punctuation_of_spanish_sticks_to_no_word():
    assert terms("¿Plazo? ¡Plazo! «plazo» —plazo— “plazo”… 'plazo'") == ["plaz"] * 6


@pytest.mark.parametrize("invisible", ["\ufeff", "\u200b", "\u200d", "\u2060", "\u00ad", "\u200e"])
def test_what_no_reader_sees_changes_no_term(invisible):
    assert terms(f"{invisible}garan{invisible}tía{invisible} {invisible} plazo") == ["garanti", "plaz"]


def test_stop_words_go_with_and_without_their_accents():
    assert terms("él el más mas está esta Qué QUE también tambien") == []
    assert terms("The AND of") == ["the", "and", "of"]
    assert terms("The AND of", ENGLISH) == []


def test_unfolded_stop_words_keep_their_accents():
    unfolded = Analyzer(language="spanish", fold=False, stem=False)
    assert terms("también tambien", unfolded) == ["tambien"]


def test_stop_words_are_taken_out_before_stemming():
    assert terms("estas estado", Analyzer(language="spanish", stopwords=False)) == ["estas", "estad"]
    assert terms("wills", ENGLISH) == ["will"]


def test_the_shortest_length_is_that_of_the_word_and_not_of_its_stem():
    assert terms("x io ios", Analyzer(language="spanish", min_length=3, stopwords=False)) == terms("ios")


def test_plain_text_is_in_lower_case_and_nothing_else():
    assert terms("Las GARANTÍAS de la pingüina", PLAIN) == ["las", "garantías", "de", "la", "pingüina"]
    assert Analyzer(language="plain", stem=True, fold=True) == Analyzer(
        language="plain", stem=False, fold=False
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße STRAẞE", ["straße", "straße"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("ΟΔΟΣ οδος", ["οδος", "οδος"]),
        ("J\u030c \u01f0", ["\u01f0", "\u01f0"]),
        ("हिन्दी עִבְרִית", ["हिन्दी", "עִבְרִית"]),
        ("", []),
        ("¿… !", []),
    ],
)
def test_letters_that_lower_case_or_marks_make_long_stay_in_their_word(text, expected):
    assert terms(text, PLAIN) == [unicodedata.normalize("NFC", word) for word in expected]


def test_only_latin_letters_are_folded():
    analyzer = Analyzer(language="english", stem=False)
    assert terms("İstanbul café й हिन्दी", analyzer) == ["istanbul", "cafe", "й", "हिन्दी"]


def test_what_is_forgotten_is_analyzed_again(monkeypatch):
    monkeypatch.setattr("bench.text.analyzer._Terms.most", 2)
    analyzer = Analyzer(language="spanish")
    assert terms("plazos garantía coste plazos garantía", analyzer) == [
        "plaz",
        "garanti",
        "cost",
        "plaz",
        "garanti",
    ]


def test_auto_must_be_resolved_before_use():
    auto = Analyzer(language="auto", min_length=2)
    with pytest.raises(BenchError, match=r"language=auto has not been resolved.*spanish, english or plain"):
        auto.analyze(["plazo"])
    assert auto.resolved("spanish") == Analyzer(language="spanish", min_length=2)
    assert auto.resolved(None) == Analyzer(language="plain", min_length=2)
    assert SPANISH.resolved("english") is SPANISH


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"language": "spanich"}, "analyzer.language='spanich'; did you mean 'spanish'?"),
        ({"language": "spanish", "stem": "no"}, "analyzer.stem='no': true or false"),
        ({"language": "spanish", "min_length": 0}, "analyzer.min_length=0: a whole number from 1"),
        ({"language": "spanish", "min_length": True}, "analyzer.min_length=True"),
    ],
)
def test_a_wrong_field_is_named(fields, message):
    with pytest.raises(BenchError) as raised:
        Analyzer(**fields)
    assert message in str(raised.value)


def test_identity_tells_every_setting_and_nothing_of_what_was_read():
    analyzer = Analyzer(language="spanish", stem=False)
    before = identity(analyzer)
    analyzer.analyze(["plazo"])
    assert identity(analyzer) == before
    assert (
        before
        == "text.analyzer.Analyzer(language='spanish', fold=True, stopwords=True, stem=False, min_length=1)"
    )


@pytest.mark.parametrize("name", ["auto", "spanish", "english", "plain"])
def test_every_analyzer_of_the_config_says_what_its_constructor_says(name):
    config = OmegaConf.load(f"conf/analyzer/{name}.yaml")
    assert instantiate(config) == Analyzer(language=name)
    assert set(config) == {"_target_", "language", "fold", "stopwords", "stem", "min_length"}


SAID_ALIKE = {
    "spanish": "Los productos se pueden devolver en un plazo de treinta días desde la entrega.",
    "english": "Items can be returned within thirty days of the delivery if they are unused.",
    "portuguese": "Os produtos podem ser devolvidos no prazo de trinta dias a contar da entrega.",
    "french": "Les produits peuvent être retournés dans un délai de trente jours à compter de la livraison.",
    "italian": "I prodotti possono essere restituiti entro trenta giorni dalla consegna, con la fattura.",
    "german": "Die Waren können innerhalb von dreißig Tagen nach der Lieferung zurückgegeben werden.",
    "turkish": "Ürünler teslimattan itibaren otuz gün içinde fatura ile birlikte iade edilebilir.",
}


@pytest.mark.parametrize("language", SAID_ALIKE)
def test_spanish_and_english_are_told_from_other_languages(language):
    assert detect([SAID_ALIKE[language]]) == (language if language in ("spanish", "english") else None)


def test_language_is_told_from_texts_spread_over_all_of_them():
    texts = [SAID_ALIKE["english"]] * 10 + [SAID_ALIKE["spanish"]] * 90
    assert detect(texts, sample=10) == "spanish"
    assert detect(texts[::-1], sample=10) == "spanish"


@pytest.mark.parametrize("texts", [[], [""], ["DV-14 2024 30 kg", "EN-2"]])
def test_texts_without_stop_words_are_in_no_language(texts):
    assert detect(texts) is None
