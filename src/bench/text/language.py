"""Which language a collection is in, by the share of its words that are stop words."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from bm25s import stopwords

from bench.text.words import plain, words

STOP_WORDS = {"spanish": stopwords.STOPWORDS_SPANISH, "english": stopwords.STOPWORDS_EN}
"""Those of bm25s, of the languages that there is an analyzer for."""
# Languages that we have no analyzer for, but whose stop words would else pass for Spanish or English ones.
NEIGHBOURS = {
    "portuguese": stopwords.STOPWORDS_PORTUGUESE,
    "italian": stopwords.STOPWORDS_ITALIAN,
    "french": stopwords.STOPWORDS_FRENCH,
    "german": stopwords.STOPWORDS_GERMAN,
    "dutch": stopwords.STOPWORDS_DUTCH,
}
LEAST_SHARE = 0.15


def detect(texts: Sequence[str], *, sample: int = 200) -> str | None:
    """`spanish`, `english`, or None where the texts are in neither (or in too many languages to tell).

    Reads `sample` texts, spread evenly over all of them, so the answer is the same every time. The language
    whose stop words (those of bm25s) make up the largest share of the words wins, if it is one of ours and
    the share is at least 15 %; running text has 25 to 50 %.
    """
    spread = texts[:: max(1, -(-len(texts) // sample))]
    counts = Counter(map(plain, itertools.chain.from_iterable(words(spread))))
    hits = {
        language: sum(counts[word] for word in stop) for language, stop in (STOP_WORDS | NEIGHBOURS).items()
    }
    best = max(hits, key=lambda language: hits[language])
    enough = counts and hits[best] >= LEAST_SHARE * counts.total()
    return best if enough and best in STOP_WORDS else None
