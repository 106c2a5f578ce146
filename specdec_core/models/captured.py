"""Passes captured as CUDA graphs, over keys and values at fixed places in memory: an option.

A small pass on a GPU is limited by the processor, which starts some hundreds of kernels one by
one; a graph starts all of them at once. It repeats just what was captured, addresses included.
So a model has one *desk*, buffers that its graphs read and write, on which one run at a time lays
its keys and values; whoever comes next finds them put away first. There is a graph for each number
of tokens up to ``LONGEST`` and for each of two rooms, since attention looks at all of a room.

A graph that computed something else would write wrong text in silence. So every graph is held
against the ordinary pass before the first run, and the model is refused in words if they differ.

Longer inputs, such as a prompt, go through the same pass uncaptured, and so does a run that has
grown longer than the desk.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from specdec_core.decoding.cache import CachedModel
from specdec_core.models.checklist import CACHED_TOKENS
from specdec_core.models.errors import PairError
from specdec_core.models.fixed import LONGEST, Buffers, Shapes, pass_of, shapes_of
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.runner import runner_for
from specdec_core.models.trial import differ, tolerance

SHORT = 512
"""Tokens of the smaller room, which most runs stay within."""

Work = Callable[[], Tensor]
"""Does something to tensors at fixed places and gives the one that holds the result."""

Capture = Callable[[Work], Work]
"""Makes of some work what repeats it, with whatever the tensors that it reads hold by then."""


class CudaGraphs:
    """Captures work on one GPU; all graphs share their memory, since they run one after the other."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, work: Work) -> Work:
        with torch.cuda.device(self._device):
            self._once(work)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                result = work()

        def repeat() -> Tensor:
            graph.replay()
            return result

        return repeat

    def _once(self, work: Work) -> None:
        """Do the work beside the main stream: libraries set themselves up then, which no graph may hold."""
        side, main = torch.cuda.Stream(), torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            work()
        main.wait_stream(side)


class CapturedSteps:
    """The captured passes of one model, shared by all of its runs.

    Args:
        passes: the model, whole on one device.
        title: its name, for messages.
        capture: what makes the graphs; CUDA's own if left out.

    Attributes:
        config: the model's text config.
        room: tokens that the desk holds.
    """

    def __init__(self, passes: nn.Module, title: str, capture: Capture | None = None) -> None:
        self.config = passes.config.get_text_config()
        self.room = min(self.config.max_position_embeddings, CACHED_TOKENS)
        self._title, self._passes, self._pass = title, passes, pass_of(passes)
        self._device = next(passes.parameters()).device
        self._capture = capture or CudaGraphs(self._device)
        self._shapes = shapes_of(passes)
        self._desk = _Desk(self._shapes, self.room)
        self._ids = torch.zeros(1, LONGEST, dtype=torch.int64, device=self._device)
        self._start = torch.zeros((), dtype=torch.int64, device=self._device)
        self._graphs: dict[tuple[int, int], Work] = {}
        self._using = threading.Lock()

    def sequence(self, logits_on: torch.device | None = None) -> "CapturedModel":
        """The model with an empty cache; ``logits_on`` as in ``CachedModel``."""
        return CapturedModel(self, logits_on)

    def compile(self, meter: Meter) -> None:
        """Make the graphs and hold each against the ordinary pass. Takes seconds.

        Raises:
            PairError: this kind of model cannot be captured, or its graphs compute something else.
            Cancelled: the work was cancelled; noticed between two graphs.
        """
        for room in self._rooms():
            meter.stage(f"capturing the passes of {self._title} over up to {room:,} tokens")
            for tokens in range(min(LONGEST, room - 1), 0, -1):
                meter.check()
                self._make(room, tokens)
        meter.stage(f"comparing the captured passes of {self._title} with the ordinary ones")
        if not self._agrees(meter):
            raise PairError(
                f"{self._title} cannot be captured as CUDA graphs: they give other logits than its ordinary "
                "passes. Run it as it is."
            )

    @torch.inference_mode()
    def run(self, model: "CapturedModel", ids: Sequence[int], keep: int) -> Tensor:
        """Logits of the last ``keep`` tokens, [keep, V] in the weights' format, in memory of their own."""
        fed = torch.tensor([ids])
        with self._using:
            room, buffers = self._laid_out(model, model.length + len(ids))
            self._start.fill_(model.length)
            graph = self._graphs.get((room, len(ids)))
            if graph is None:
                fed = fed.to(self._device, non_blocking=True)
                return self._pass(fed, self._start, *buffers.within(room), keep)
            self._ids[:, : len(ids)].copy_(fed, non_blocking=True)
            return graph()[-keep:].clone()

    def _laid_out(self, model: "CapturedModel", end: int) -> tuple[int, Buffers]:
        """The keys and values of a sequence and the room to look at: on the desk unless it is too small."""
        if end <= self.room:
            self._desk.lay(model)
            return next(room for room in self._rooms() if end <= room), self._desk.buffers
        self._desk.put_away(model)
        if model.own is None or model.own.room < end:
            most = max(end, min(self.config.max_position_embeddings, 2 * end))
            model.own = _copied(self._shapes, most, model.own, model.length)
        return model.own.room, model.own

    def _rooms(self) -> list[int]:
        return sorted({min(SHORT, self.room), self.room})

    @torch.inference_mode()
    def _make(self, room: int, tokens: int) -> None:
        keys, values = self._desk.buffers.within(room)
        # The first place is left alone: at the start of a text transformers' passes are others.
        self._start.fill_(1)
        work = partial(self._pass, self._ids[:, :tokens], self._start, keys, values, 0)
        try:
            with runner_for(str(self._device)).turn():
                self._graphs[room, tokens] = self._capture(work)
        except Cancelled:
            raise
        except Exception as error:
            # What a driver makes of somebody's model is as open as the model.
            kind = type(error).__name__
            raise PairError(
                f"{self._title} cannot be captured as CUDA graphs ({kind}). Run it as it is."
            ) from error

    def _agrees(self, meter: Meter) -> bool:
        """Whether every graph computes what the ordinary pass does, also after rejected drafts."""
        ours, plain = self.sequence(), CachedModel(self._passes)
        ids = torch.randint(self.config.vocab_size, (self.room,), generator=torch.Generator().manual_seed(1))
        for before in (0, *self._rooms()[:-1]):
            for tokens in (before - plain.length, *range(1, LONGEST + 1)):
                start = plain.length
                if not 0 < tokens <= self.room - start:
                    continue
                meter.check()
                fed = ids[start : start + tokens].tolist()
                with runner_for(str(self._device)).turn():
                    one, other = (each.feed(fed, keep=tokens) for each in (ours, plain))
                if differ(one, other, tolerance(self._shapes[0][0].dtype)):
                    return False
                for each in (ours, plain):
                    each.rewind(start + (tokens + 1) // 2 if tokens <= LONGEST else start + tokens)
        return True


class CapturedModel:
    """A ``SequenceModel`` whose short passes are graphs.

    Args:
        steps: the passes. logits_on: as in ``CachedModel``.

    Attributes:
        own: its keys and values while they are not on the desk; None if there are none.
    """

    def __init__(self, steps: CapturedSteps, logits_on: torch.device | None = None) -> None:
        self.vocab_size: int = steps.config.vocab_size
        self.context_length: int = steps.config.max_position_embeddings
        self.own: Buffers | None = None
        self._steps, self._logits_on = steps, logits_on
        self._length = 0

    @property
    def length(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Memory of its own; the desk belongs to the model."""
        own = self.own
        return own.nbytes if own else 0

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        logits = self._steps.run(self, list(ids), keep)
        self._length += len(ids)
        return logits.to(self._logits_on, torch.float32)

    def rewind(self, length: int) -> None:
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind a cache of {self._length} tokens to {length}")
        self._length = length
        if length == 0:
            self.own = None


class _Desk:
    """The buffers that graphs read and write, and the sequence that lies there."""

    def __init__(self, shapes: Shapes, room: int) -> None:
        self.buffers = Buffers(shapes, room)
        self._shapes = shapes
        # Weak: a run that is gone needs no putting away.
        self._holder: Callable[[], CapturedModel | None] = lambda: None

    def lay(self, model: CapturedModel) -> None:
        """Have the sequence here; the one that was here gets buffers of its own."""
        if (holder := self._holder()) is model:
            return
        if holder:
            self.put_away(holder)
        if model.own:
            self.buffers.take(model.own, model.length)
        model.own, self._holder = None, weakref.ref(model)

    def put_away(self, model: CapturedModel) -> None:
        """Have the sequence in buffers of its own, if it is here."""
        if self._holder() is model:
            model.own = _copied(self._shapes, model.length, self.buffers, model.length)
            self._holder = lambda: None


def _copied(shapes: Shapes, room: int, old: Buffers | None, count: int) -> Buffers:
    """New buffers that hold the first ``count`` tokens of others."""
    made = Buffers(shapes, room)
    if old:
        made.take(old, count)
    return made
