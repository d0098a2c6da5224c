"""A cross-encoder that reads question and document apart in its lower layers and together in its upper ones.

What the lower layers make of a text does not depend on what it is paired with (MacAvaney et al., 2020): each text
is read once, and a pair costs the upper layers alone. The score starts from the similarity of the two vectors
that the encoder was trained for, so training has to learn only what that similarity lacks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.base.modules.input_module import InputModule
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

SCALE = 40.0
"""What a similarity is multiplied by before anything is learned."""
CENTRE = 0.85
"""The similarity that scores 0 then: the vectors of this kind of encoder lie in a narrow cone."""
READ_TOKENS = 4096
"""How many tokens go through the lower layers at once, padding included."""
JOIN_TOKENS = 2048
"""How many tokens go through the upper layers at once, padding included."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What the encoder makes of one text alone."""

    states: Tensor
    """Of its tokens, below the layers that read pairs, [tokens, size]."""
    vector: Tensor
    """Of the whole text, out of all its layers, of length 1, [size]."""
    cut: int
    """How many of its tokens were not read."""

    def __len__(self) -> int:
        return len(self.states)


class DelayedInteraction(InputModule):  # type: ignore[misc]  # the library has no types
    """The one module of a CrossEncoder of this kind.

    encoder: an encoder in the form of BERT: `embeddings`, and layers in `encoder.layer`
    together: how many of its layers, from the top, read pairs; of these a copy learns, all else stays
    first_token: whether a text's vector is that of its first token; else the mean over its tokens
    prompts: what is put before a question and before a document
    longest: tokens of one text, prompt included; a document is cut there, a question refused
    """

    def __init__(
        self,
        encoder: Any,
        tokenizer: Any,
        *,
        together: int,
        first_token: bool = False,
        prompts: tuple[str, str] = ("", ""),
        longest: int = 512,
    ) -> None:
        super().__init__()
        self.tokenizer, self.prompts, self.longest = tokenizer, prompts, longest
        self.first_token = first_token
        self.embeddings = encoder.embeddings.requires_grad_(False)
        self.apart = encoder.encoder.layer.requires_grad_(False)
        self.below = len(self.apart) - together
        self.together = copy.deepcopy(self.apart[self.below :]).requires_grad_(True)
        size = encoder.config.hidden_size
        self.head = nn.Linear(3 * size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.scale = nn.Parameter(torch.tensor(1.0))

    @property
    def max_seq_length(self) -> int:
        """The longest text, in tokens."""
        return self.longest

    def too_long(self, queries: Sequence[str]) -> tuple[str, int] | None:
        """The first question that would be cut, and its tokens."""
        tokens = self._tokens(queries, of_queries=True)
        found = (
            (text, len(ids)) for text, ids in zip(queries, tokens, strict=True) if len(ids) > self.longest
        )
        return next(found, None)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def read(self, texts: Sequence[str], *, of_queries: bool) -> list[Reading]:
        """What is made of each text alone; nothing in it depends on the other texts."""
        if not texts:
            return []
        tokens = self._tokens(texts, of_queries=of_queries)
        readings: list[Any] = [None] * len(texts)
        for chosen in _batches([min(len(ids), self.longest) for ids in tokens], READ_TOKENS):
            kept = [_cut(tokens[i], self.longest) for i in chosen]
            ids = pad_sequence(kept, batch_first=True, padding_value=self.tokenizer.pad_token_id)
            lengths = torch.tensor([len(one) for one in kept])
            mask = _mask(lengths, ids.shape[1])
            states = self.embeddings(input_ids=ids.to(self._device))
            below = states
            for number, layer in enumerate(self.apart):
                states = _through(layer, states, mask)
                below = states if number + 1 == self.below else below
            for place, i in enumerate(chosen):
                length = len(kept[place])
                own = states[place, :1] if self.first_token else states[place, :length]
                vector = functional.normalize(own.mean(0), dim=0)
                readings[i] = Reading(below[place, :length].clone(), vector, len(tokens[i]) - length)
        return readings

    def join(
        self, queries: Sequence[Reading], documents: Sequence[Reading], *, tokens: int = JOIN_TOKENS
    ) -> Tensor:
        """One score a pair, float32 [n]; `queries` and `documents` are aligned, `tokens` go through at once."""
        lengths = [len(q) + len(d) for q, d in zip(queries, documents, strict=True)]
        scores, places = [], []
        for chosen in _batches(lengths, tokens):
            scores.append(self._joined([queries[i] for i in chosen], [documents[i] for i in chosen]))
            places.extend(chosen)
        if not scores:
            return torch.zeros(0)
        found = torch.cat(scores)
        return torch.empty_like(found).index_copy(0, torch.tensor(places, device=found.device), found)

    def _tokens(self, texts: Sequence[str], *, of_queries: bool) -> list[list[int]]:
        """The tokens of each text with its prompt, none cut."""
        prompt = self.prompts[0 if of_queries else 1]
        prompted = [prompt + text for text in texts]
        tokens: list[list[int]] = self.tokenizer(prompted, truncation=False, verbose=False)["input_ids"]
        return tokens

    def _joined(self, queries: Sequence[Reading], documents: Sequence[Reading]) -> Tensor:
        pairs = list(zip(queries, documents, strict=True))
        states = pad_sequence([torch.cat([q.states, d.states]).float() for q, d in pairs], batch_first=True)
        of_query = _mask(torch.tensor([len(q) for q, _ in pairs]), states.shape[1]).to(states.device)
        of_pair = _mask(torch.tensor([len(q) + len(d) for q, d in pairs]), states.shape[1]).to(states.device)
        for layer in self.together:
            states = _through(layer, states, of_pair)
        asked, told = (_mean(states, mask) for mask in (of_query, of_pair & ~of_query))
        learned = self.head(torch.cat([states[:, 0], asked * told, (asked - told).abs()], dim=1)).view(-1)
        similarity = torch.stack([q.vector.float() @ d.vector.float() for q, d in pairs])
        return SCALE * self.scale * (similarity - CENTRE) + learned

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **_: Any
    ) -> dict[str, Any]:  # the shape of the library's own
        """The pairs as they are: `forward` reads texts, not tokens."""
        return {"pairs": [(f"{prompt or ''}{query}", document) for query, document in inputs]}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """`scores` [n, 1] of the `pairs`; each distinct text is read once."""
        queries, documents = zip(*features["pairs"], strict=True)
        asked, told = (
            dict(zip(distinct, self.read(distinct, of_queries=of_queries), strict=True))
            for distinct, of_queries in (
                (list(dict.fromkeys(queries)), True),
                (list(dict.fromkeys(documents)), False),
            )
        )
        features["scores"] = self.join([asked[q] for q in queries], [told[d] for d in documents]).view(-1, 1)
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Not for this module: what training changed is written by `adapter`."""
        raise NotImplementedError("bench.rerankers.adapter writes what training has changed")

    @property
    def _device(self) -> torch.device:
        return self.head.weight.device


def _through(layer: Any, states: Tensor, mask: Tensor) -> Tensor:
    """The states behind a layer, in which tokens heed those of the mask [n, tokens]."""
    out = layer(states, mask[:, None, None, :].to(states.device))
    return out if isinstance(out, Tensor) else out[0]


def _mask(lengths: Tensor, width: int) -> Tensor:
    return torch.arange(width)[None, :] < lengths[:, None]


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.to(states.dtype)[:, :, None]
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def _cut(ids: Sequence[int], longest: int) -> Tensor:
    """The first tokens, and the mark that ends a text."""
    return torch.tensor(ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]])


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Positions of like length together, the longest first, so many that padding and all there are `tokens`."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        count = max(1, min(len(order), tokens // max(1, lengths[order[-1]])))
        yield order[-count:]
        del order[-count:]
