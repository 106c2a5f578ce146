"""The teaching material on disk: rows of token ids and the target's logits over them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from specdec_core.training.whole import write_text

Rows = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Shelf:
    """Rows of one length: ids int16 `[N, L]`, logits float16 `[N, L, V]`, filled in order.

    Place i of a row's logits is the law of its token i + 1. A small file beside the
    arrays says how many rows are filled, so that an interrupted sampling goes on.
    """

    folder: Path
    rows: int
    length: int
    vocabulary: int

    @property
    def filled(self) -> int:
        path = self.folder / "filled.json"
        return json.loads(path.read_text())["rows"] if path.exists() else 0

    def open(self) -> tuple[np.ndarray, np.ndarray]:
        """Both arrays as memory maps, made on first use."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self._map("ids", np.int16, ()), self._map("logits", np.float16, (self.vocabulary,))

    def fill(self, produce: Callable[[int], Rows], report: Callable[[str], None]) -> None:
        """Fill the remaining rows with batches; `produce(first)` makes those from row `first`."""
        ids, logits = self.open()
        while (first := self.filled) < self.rows:
            new_ids, new_logits = produce(first)
            kept = min(len(new_ids), self.rows - first)
            ids[first : first + kept] = new_ids[:kept].numpy()
            logits[first : first + kept] = new_logits[:kept].numpy()
            self._mark(first + kept)
            report(f"{self.folder.name}: {first + kept} of {self.rows} rows of {self.length} tokens")

    def batch(self, indices: np.ndarray) -> Rows:
        """Ids int64 and logits float32 of some rows."""
        ids, logits = self.open()
        return torch.from_numpy(ids[indices].astype(np.int64)), torch.from_numpy(logits[indices]).float()

    def _map(self, name: str, dtype, extra: tuple[int, ...]) -> np.ndarray:
        path = self.folder / f"{name}.npy"
        if not path.exists():
            return np.lib.format.open_memmap(path, "w+", dtype, (self.rows, self.length, *extra))
        return np.load(path, mmap_mode="r+")

    def _mark(self, rows: int) -> None:
        write_text(self.folder / "filled.json", json.dumps({"rows": rows}))
