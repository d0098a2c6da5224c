"""A trained adapter scoring pairs: every text read once, the reading of documents kept for the queries to come."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.errors import BenchError
from bench.rerankers.pairs import PairScores
from bench.rerankers.torch_pairs import precision

if TYPE_CHECKING:
    from bench.rerankers.delayed import DelayedInteraction, Reading

AT_ONCE = 4096
"""How many pairs are worked on at once."""
KEPT_TOKENS = 200_000
"""How many tokens of documents are kept, the latest used: 300 MB of an encoder of 384 numbers a token."""


class DelayedPairs:
    """A loaded adapter. Reading a document again costs nothing while it is among the latest."""

    def __init__(self, model: Any, dtype: str) -> None:
        self._model, self._dtype = model.eval(), dtype
        self._module: DelayedInteraction = model[0]
        self._documents: OrderedDict[str, Reading] = OrderedDict()
        self._tokens = 0
        self.longest_input: int | None = self._module.longest

    def score(
        self,
        queries: Sequence[str],
        documents: Sequence[str],
        *,
        longest: int,  # noqa: ARG002  # named by the protocol
        batch_tokens: int,
    ) -> PairScores:
        """Logits of pairs; BenchError where a query is longer than what the adapter reads.

        `longest` changes nothing: texts are read to the length that it was trained with.
        """
        import torch

        values, cut = np.empty(len(queries)), np.zeros(len(queries), np.int32)
        with torch.inference_mode(), precision(self._dtype, device=self._model.device.type):
            asked = self._queries(list(dict.fromkeys(queries)))
            for some in _slices(len(queries)):
                told = self._read(list(dict.fromkeys(documents[some])))
                readings = [told[document] for document in documents[some]]
                scores = self._module.join([asked[q] for q in queries[some]], readings, tokens=batch_tokens)
                values[some] = scores.double().cpu().numpy()
                cut[some] = [reading.cut for reading in readings]
        return PairScores(values, cut)

    def _queries(self, texts: Sequence[str]) -> dict[str, Reading]:
        readings = self._module.read(texts, of_queries=True)
        for text, reading in zip(texts, readings, strict=True):
            if reading.cut:
                raise BenchError(
                    f"a query of {len(reading) + reading.cut} tokens is longer than the {self.longest_input} that "
                    f"this reranker reads, and queries are never cut: {text[:60]!r}…"
                )
        return dict(zip(texts, readings, strict=True))

    def _read(self, texts: Sequence[str]) -> dict[str, Reading]:
        missing = [text for text in texts if text not in self._documents]
        found = {text: self._documents[text] for text in texts if text in self._documents}
        found |= zip(missing, self._module.read(missing, of_queries=False), strict=True)
        for text, reading in found.items():
            self._tokens += 0 if text in self._documents else len(reading)
            self._documents[text] = reading
            self._documents.move_to_end(text)
        while self._tokens > KEPT_TOKENS:
            self._tokens -= len(self._documents.popitem(last=False)[1])
        return found


def _slices(count: int) -> Iterator[slice]:
    for start in range(0, count, AT_ONCE):
        yield slice(start, start + AT_ONCE)
