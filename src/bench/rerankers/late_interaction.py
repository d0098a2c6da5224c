"""Late interaction: each token of the query looks for the token of the document that is most like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from bench.embedders.sentence_transformer import SHORTEST_INPUT, prompt_of
from bench.embedders.torch_model import Task
from bench.errors import BenchError, Unavailable, check_flag, check_whole
from bench.models import Model, check_computation, check_device
from bench.packaged.e5_small import IDENTITY, PACKAGED, data_file, e5_small_folder
from bench.rerankers.pairs import PairScores
from bench.rerankers.token_vectors import TokenModel, token_model

_INSTEAD = (
    f"late_interaction.model={PACKAGED} comes in a package, reranker=overlap needs no model; "
    "late_interaction.model also takes a folder that holds one"
)
_PAIRS_AT_ONCE = 256
Array = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class LateInteractionScorer:
    """MaxSim over the token vectors of any sentence-transformers model (Khattab and Zaharia 2020, ColBERT).

    A pair's score is the mean, over the tokens of the query, of the greatest cosine to a token of the document:
    from -1 to 1. The mean and not the paper's sum, so that scores can be compared over queries of any length; the
    order of a query's documents is the same. What counts as a token of a text is what stands in it: prompt,
    special tokens and padding are read by the model and left out of the score. A query without tokens scores 0
    with every document, a document without tokens -1 with every other query.

    model: `e5_small`, the packaged multilingual-e5-small, or a name on the Hugging Face hub, or a folder
    query_prompt, document_prompt: what stands before every text; None is what the model's own configuration
        says, "" is nothing
    max_length: longest text in tokens, prompt included, lowered to what the model can read. Only documents are
        cut to fit
    device: auto is the first GPU where there is one, else the CPU
    dtype: of the weights while computing; vectors are compared in float32, and their mean is taken in float64
    batch_size: texts computed at once; texts of like length are put together
    revision: branch, tag or commit on the hub
    trust_remote_code: let the model bring code of its own
    """

    model: str = PACKAGED
    query_prompt: str | None = None
    document_prompt: str | None = None
    max_length: int = 512
    batch_size: int = 32
    device: str = "auto"
    dtype: str = "float32"
    revision: str | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        check_computation(
            "late_interaction", device=self.device, dtype=self.dtype, batch_size=self.batch_size
        )
        check_whole("late_interaction.max_length", self.max_length, least=SHORTEST_INPUT)
        check_flag("late_interaction.trust_remote_code", self.trust_remote_code)

    def identity(self) -> str:
        """The model (a folder's digest, a hub model's commit) and all that changes a score, so no batch size."""
        settings = ("query_prompt", "document_prompt", "max_length", "dtype", "trust_remote_code")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        model = IDENTITY if self.model == PACKAGED else self._model.identity
        return f"LateInteractionScorer(model={model}, {fields})"

    def check(self, _documents: int) -> None:
        """Unavailable unless the model is here or the hub has it, or where there is no GPU."""
        if self.model == PACKAGED:
            try:
                data_file()
            except Unavailable as error:
                raise Unavailable(f"late_interaction.model={PACKAGED}: {error}; {_INSTEAD}") from error
        else:
            self._model.check()
        check_device("late_interaction", self.device)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """One score a pair; each distinct text is encoded once. BenchError where a query is too long to be read.

        The token vectors of all queries are held, those of one batch of documents at a time.
        """
        if not queries:
            return PairScores(np.zeros(0), np.zeros(0, np.int32))
        asked, query_of = _distinct(queries)
        read, document_of = _distinct(documents)
        model = self._loaded()
        longest = min(self.max_length, model.facts.longest_input or self.max_length)
        query_prompt, document_prompt = self._prompt(model, "query"), self._prompt(model, "document")
        _refuse_longer(model.token_counts([query_prompt + text for text in asked]), asked, longest)
        cut = np.maximum(np.array(model.token_counts([document_prompt + text for text in read])) - longest, 0)
        tokens = _Tokens.of(
            model.batches(
                asked, task="query", prompt=query_prompt, longest=longest, batch_size=self.batch_size
            ),
            len(asked),
        )
        values = np.zeros(len(queries))
        for places, vectors in model.batches(
            read, task="document", prompt=document_prompt, longest=longest, batch_size=self.batch_size
        ):
            # Many pairs share a document: it meets the tokens of all their queries in one product.
            which, pairs = np.nonzero(np.array(places)[:, np.newaxis] == document_of)
            for place, document in enumerate(vectors):
                for some in _slabs(pairs[which == place]):
                    values[some] = tokens.mean_of_greatest(query_of[some], document)
        return PairScores(values, cut[document_of].astype(np.int32))

    @cached_property
    def _model(self) -> Model:
        name = str(e5_small_folder()) if self.model == PACKAGED else self.model
        return Model(name=name, revision=self.revision, setting="late_interaction.model", instead=_INSTEAD)

    def _loaded(self) -> TokenModel:
        return _loaded(self._model, self._model.identity, self.device, self.dtype, self.trust_remote_code)

    def _prompt(self, model: TokenModel, task: Task) -> str:
        asked = self.query_prompt if task == "query" else self.document_prompt
        return prompt_of(self.model, asked, facts=model.facts, task=task, group="late_interaction")


@dataclass(frozen=True, eq=False)
class _Tokens:
    """The token vectors of several texts under each other."""

    vectors: Array
    """Of length 1, float32 [tokens, dimension]."""
    starts: Places
    """Where each text begins, and the end of the last, [texts + 1]."""

    @staticmethod
    def of(batches: Iterator[tuple[list[int], list[Array]]], count: int) -> _Tokens:
        """The texts of all batches in the order of their places."""
        found = {place: text for places, texts in batches for place, text in zip(places, texts, strict=True)}
        lengths = [len(found[place]) for place in range(count)]
        return _Tokens(np.concatenate([found[place] for place in range(count)]), np.cumsum([0, *lengths]))

    def mean_of_greatest(self, texts: Places, document: Array) -> npt.NDArray[np.float64]:
        """For each of these texts the mean, over its tokens, of the greatest product with a row of `document`."""
        lengths = self.starts[texts + 1] - self.starts[texts]
        text_of = np.repeat(np.arange(len(texts)), lengths)
        ends = np.cumsum(lengths)
        rows = np.arange(len(text_of)) + np.repeat(self.starts[texts] - (ends - lengths), lengths)
        greatest = (self.vectors[rows] @ document.T).max(axis=1, initial=-1.0)
        sums = np.bincount(text_of, weights=greatest, minlength=len(texts))
        means: npt.NDArray[np.float64] = sums / np.maximum(lengths, 1)
        return means


# What a folder holds is part of the key, so one trained anew is loaded anew.
@lru_cache(maxsize=2)
def _loaded(source: Model, _identity: str, device: str, dtype: str, trust_remote_code: bool) -> TokenModel:
    return token_model(source, device=device, dtype=dtype, trust_remote_code=trust_remote_code)


def _distinct(texts: Sequence[str]) -> tuple[list[str], Places]:
    """Each text once, in the order in which it comes first, and which of them each is."""
    place_of = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(place_of), np.array([place_of[text] for text in texts])


def _slabs(pairs: Places) -> Iterator[Places]:
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        yield pairs[start : start + _PAIRS_AT_ONCE]


def _refuse_longer(counts: Sequence[int], queries: Sequence[str], longest: int) -> None:
    length, query = max(zip(counts, queries, strict=True))
    if length > longest:
        raise BenchError(
            f"a query of {length} tokens is longer than the {longest} that are read, and queries are never cut: "
            f"{query[:60]!r}… Raise late_interaction.max_length or take a larger model"
        )
