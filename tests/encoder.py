"""Small real models with seeded weights, a word a token: an encoder of three layers, a cross-encoder of two."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

LONGEST = 24
LAYERS = 3
PROMPTS = {"query": "ask: ", "document": "read: "}


def write_encoder(
    folder: Path, texts: Iterable[str], *, seed: int = 11, pooling: str = "mean", prompts=PROMPTS
) -> Path:
    """Write the model into a folder; it knows the words of the texts, whatever stands around them."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True)
    words = sorted(
        {
            word
            for text in (*texts, *prompts.values())
            for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text.lower())
        }
    )
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer.model = models.WordLevel(vocabulary, unk_token="[UNK]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    inner = folder.with_name(f"{folder.name}-inner")
    _save_tokenizer(tokenizer, inner, longest=LONGEST)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=LAYERS,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=LONGEST,
            initializer_range=0.3,  # the usual 0.02 makes all tokens alike
        )
        BertModel(config).save_pretrained(inner)
    transformer = Transformer(str(inner))
    pooled = Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
    SentenceTransformer(modules=[transformer, pooled, Normalize()], prompts=prompts, device="cpu").save(
        str(folder)
    )
    return folder


def write_cross_encoder(folder: Path, texts: Iterable[str], *, longest: int = 64) -> Path:
    """Write a cross-encoder into a folder; it knows the words of the texts."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification

    words = sorted({word for text in texts for word in text.split()})
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    _save_tokenizer(tokenizer, folder, longest=longest)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=longest,
            num_labels=1,
            initializer_range=0.5,  # the usual 0.02 scores every pair alike
        )
        BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def _save_tokenizer(tokenizer, folder: Path, *, longest: int) -> None:
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=longest,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
