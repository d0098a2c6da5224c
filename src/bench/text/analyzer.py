"""The chain from a text to its terms, the same for documents and queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import Stemmer

from bench.errors import BenchError, check_flag, check_whole, did_you_mean
from bench.text.language import STOP_WORDS
from bench.text.words import folded, plain, words

LANGUAGES = ("spanish", "english", "plain", "auto")


@dataclass(frozen=True, kw_only=True)
class Analyzer:
    """Words in lower case, composed; of those long enough, folded, without stop words, stemmed.

    Folding comes before the stop list, which is folded likewise, and before the stemmer, so that garantía,
    garantias and GARANTÍAS share a term; ñ is kept, ü becomes u and ç becomes c. The stop lists are those of
    bm25s, the stemmers Snowball's (Porter 2001). `min_length` counts the characters of the word, not of the
    stem. `plain` text has no stop list and no stemmer and is not folded, whatever is asked; `auto` stands
    for the language of the collection and is not yet an analyzer.
    """

    language: str
    fold: bool = True
    stopwords: bool = True
    stem: bool = True
    min_length: int = 1

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise BenchError(
                f"analyzer.language={self.language!r}{did_you_mean(str(self.language), LANGUAGES)}"
            )
        for name in ("fold", "stopwords", "stem"):
            check_flag(f"analyzer.{name}", getattr(self, name))
            if self.language == "plain":
                object.__setattr__(self, name, False)
        check_whole("analyzer.min_length", self.min_length, least=1)

    def resolved(self, language: str | None) -> Analyzer:
        """This analyzer with `auto` replaced by the collection's language, by `plain` where that is None."""
        return replace(self, language=language or "plain") if self.language == "auto" else self

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in their order, as often as they stand there."""
        terms = self._terms
        return [[term for word in found if (term := terms[word])] for found in words(texts)]

    @cached_property
    def _terms(self) -> _Terms:
        if self.language == "auto":
            raise BenchError(
                "analyzer.language=auto has not been resolved: take Analyzer.resolved(language), or set"
                " analyzer=spanish, english or plain"
            )
        fold = folded if self.fold else str
        stop = frozenset(map(fold, STOP_WORDS[self.language])) if self.stopwords else frozenset()
        stem = Stemmer.Stemmer(self.language, 0).stemWord if self.stem else str

        def term(word: str) -> str:
            clean = plain(word)
            if len(clean) < self.min_length or (bare := fold(clean)) in stop:
                return ""
            return str(stem(bare))

        return _Terms(term)


class _Terms(dict[str, str]):
    """The term of each word that was met, empty where the word is left out.

    A text is mostly words met before. What no longer fits is forgotten, lest a large corpus fill the memory.
    """

    most = 1_000_000

    def __init__(self, term: Callable[[str], str]) -> None:
        self._term = term

    def __missing__(self, word: str) -> str:
        if len(self) >= self.most:
            self.clear()
        self[word] = term = self._term(word)
        return term
