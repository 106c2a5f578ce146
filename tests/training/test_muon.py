"""Muon's updates are near-orthogonal, and they teach."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from specdec_core.training.muon import Muon, orthogonalise


@pytest.mark.parametrize("shape", [(4, 32, 96), (2, 64, 160)])
def test_singular_values_end_near_one(shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
    assert values.min() > 0.6
    assert values.max() < 1.25


def test_a_square_matrix_keeps_its_singular_directions():
    torch.manual_seed(0)
    matrix = torch.randn(1, 24, 24)
    u, _, v = torch.linalg.svd(matrix)
    diagonal = u.mT @ orthogonalise(matrix) @ v.mT
    off = diagonal - torch.diag_embed(torch.diagonal(diagonal, dim1=-2, dim2=-1))
    assert off.abs().max() < 1e-4


def test_the_size_of_the_gradient_does_not_matter():
    matrix = torch.randn(1, 16, 40, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(orthogonalise(matrix), orthogonalise(1e-3 * matrix), atol=1e-4)


def test_steps_lower_the_loss_of_a_tall_and_a_wide_matrix():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 48, bias=False), nn.ReLU(), nn.Linear(48, 4, bias=False))
    x, wanted = torch.randn(64, 16), torch.randint(4, (64,))
    optimizer = Muon(network.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        loss = F.cross_entropy(network(x), wanted)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.5 * losses[0]
