"""Where work is kept that need not be done twice: entries by what they were made from.

Everything is written beside and renamed, every entry carries the digest of its bytes, and a lock keeps two
jobs from making the same thing at the same time; a damaged entry is dropped and made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock


@dataclass(frozen=True)
class Cache:
    """A folder of content-addressed entries: `<kind>/<key>/`."""

    folder: Path

    @contextmanager
    def lock(self, kind: str, key: str) -> Iterator[None]:
        """Hold an entry while it is looked for and made."""
        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{kind}-{key}.lock"):
            yield

    def entry(self, kind: str, key: str) -> Path | None:
        """The folder of a whole entry; a damaged one is dropped."""
        folder = self.folder / kind / key
        if not folder.is_dir():
            return None
        if _seal_of(folder) == _seal(folder):
            os.utime(folder)  # when it was last used, for pruning
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def put(self, kind: str, key: str, write: Callable[[Path], None]) -> Path:
        """Let `write` fill a new folder, seal it and put it in its place at once."""
        target = self.folder / kind / key
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=target.parent))
        try:
            write(made)
            (made / SEAL).write_text(json.dumps(_seal(made)))
            if target.exists():
                shutil.rmtree(target)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return target

    def prune(self, *, unused_since: float) -> int:
        """Drop what has not been used since this time (seconds since the epoch); returns how many entries."""
        kinds = [kind for kind in self.folder.iterdir() if kind.is_dir()] if self.folder.is_dir() else []
        stale = [
            e
            for kind in kinds
            if kind.name != "locks"
            for e in kind.iterdir()
            if e.stat().st_mtime <= unused_since
        ]
        for entry in stale:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        return len(stale)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """By kind: how many entries and bytes."""
        kinds = (
            sorted(path for path in self.folder.iterdir() if path.is_dir()) if self.folder.is_dir() else []
        )
        return {
            kind.name: (
                sum(1 for entry in kind.iterdir() if not entry.name.startswith(".")),
                sum(path.stat().st_size for path in kind.rglob("*") if path.is_file()),
            )
            for kind in kinds
            if kind.name != "locks"
        }


SEAL = "seal.json"


def _seal(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): _contents(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != SEAL
    }


def _contents(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _seal_of(folder: Path) -> dict[str, str] | None:
    try:
        seal: dict[str, str] = json.loads((folder / SEAL).read_text())
    except (OSError, ValueError):
        return None
    return seal
