"""Muon: momentum whose update is orthogonalised before it is applied.

For a weight matrix the direction of descent matters more than the sizes of its singular
values, so the momentum's are all set to about one (Jordan et al. 2024,
https://kellerjordan.github.io/posts/muon/). Small models learn a given loss in roughly
half the tokens that AdamW needs.

torch.optim.Muon runs this in bfloat16, which a processor without native bfloat16 has to
emulate; here it stays in float32, and matrices of one shape go through it as one batch.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

# The quintic x -> ax + bx^3 + cx^5. Its slope at 0 lifts small singular values fast, and
# it holds them between 0.7 and 1.2 rather than at exactly 1, which training never notices.
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 4


def orthogonalise(matrices: Tensor, iterations: int = ITERATIONS) -> Tensor:
    """Bring the singular values of a batch of wide matrices `[N, rows, columns]` near one.

    Dividing by the Frobenius norm puts all singular values in (0, 1]; each iteration then
    applies the quintic to them through matrix products alone, with no decomposition.
    """
    a, b, c = QUINTIC
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-12)
    for _ in range(iterations):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon(Optimizer):
    """Orthogonalised Nesterov momentum for matrices; use AdamW for everything else."""

    def __init__(
        self, params: Iterable[Tensor], lr: float = 0.02, momentum: float = 0.95, weight_decay: float = 0.0
    ):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Update every parameter from its gradient, one batch of equal shapes at a time."""
        for group in self.param_groups:
            for batch in _same_shape(group["params"]).values():
                self._step_batch(batch, group)

    def _step_batch(self, batch: list[Tensor], group: dict) -> None:
        updates = orthogonalise(torch.stack([_wide(self._nesterov(p, group["momentum"])) for p in batch]))
        for parameter, update in zip(batch, updates, strict=True):
            rows, columns = parameter.shape
            scale = max(1.0, rows / columns) ** 0.5
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(update if rows <= columns else update.mT, alpha=-group["lr"] * scale)

    def _nesterov(self, parameter: Tensor, momentum: float) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(state["momentum"], momentum)


def _wide(matrix: Tensor) -> Tensor:
    return matrix if matrix.shape[0] <= matrix.shape[1] else matrix.mT


def _same_shape(params: list[Tensor]) -> dict[tuple[int, ...], list[Tensor]]:
    batches = defaultdict(list)
    for parameter in params:
        if parameter.grad is not None:
            batches[tuple(sorted(parameter.shape))].append(parameter)
    return batches
