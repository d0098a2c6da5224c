import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.text.analyzer import Analyzer

ANALYZERS = [Analyzer(language=language) for language in ("spanish", "english", "plain")]
TEXTS = st.text() | st.text("aáàäçnñÑoóuüİßẞJ\u0300\u0301\u0303\u030c\u0327\u200b\u00ad\ufeff -_1¿")
each_analyzer = pytest.mark.parametrize("analyzer", ANALYZERS, ids=lambda analyzer: analyzer.language)


@each_analyzer
@given(text=TEXTS)
def test_composed_and_decomposed_texts_have_the_same_terms(analyzer, text):
    expected = analyzer.analyze([text])
    assert analyzer.analyze([unicodedata.normalize("NFC", text)]) == expected
    assert analyzer.analyze([unicodedata.normalize("NFD", text)]) == expected


@each_analyzer
@given(texts=st.lists(TEXTS, max_size=5))
def test_a_text_has_the_same_terms_alone_and_among_others(analyzer, texts):
    assert analyzer.analyze(texts) == [analyzer.analyze([text])[0] for text in texts]


@each_analyzer
@given(text=TEXTS)
def test_no_term_is_empty_or_holds_a_blank(analyzer, text):
    assert all(term and not any(map(str.isspace, term)) for term in analyzer.analyze([text])[0])


@given(text=TEXTS)
def test_plain_terms_are_composed_and_analyzed_again_they_stay(text):
    terms = ANALYZERS[2].analyze([text])[0]
    assert all(unicodedata.is_normalized("NFC", term) for term in terms)
    assert ANALYZERS[2].analyze([" ".join(terms)])[0] == terms


@given(text=st.text("aábeéiínñoórsuúüÁÑ "))
def test_accents_change_no_spanish_term(text):
    bare = text.translate(str.maketrans("áéíóúüÁ", "aeiouuA"))
    assert ANALYZERS[0].analyze([text]) == ANALYZERS[0].analyze([bare])
