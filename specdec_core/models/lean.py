"""A Llama's forward pass without the bookkeeping around it.

With models of a few million parameters most of a pass is not arithmetic: transformers
prepares masks, positions and outputs anew each time, some 0.3 ms before the first product,
which a draft of one layer pays as fully as its target. ``LeanLlama`` runs the very weights
of a transformers module through the same operations with the constants made once and with
the query, key and value products, and the two of the gate, joined into one each.

It stands where the module would stand in a ``CachedModel``. Models of another kind or on
another device keep transformers' own pass.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaForCausalLM
from transformers.cache_utils import DynamicCache, DynamicLayer

from specdec_core.models.packed import layout

SMALL = 200_000_000
"""Parameters up to which a second copy of the weights is a fair price.

SmolLM2 135M on two cores (AMD EPYC), milliseconds for 1, 2, 5 and 9 tokens: 56, 69, 72, 80 through
transformers on packed layers, 42, 49, 52, 64 through ``LeanLlama``, for half a gigabyte.
"""

PLACES = 8192
"""Places of a sequence that a model is made ready for at first."""

Product = Callable[[Tensor], Tensor]
"""What a linear layer without bias does: [n, in] -> [n, out]."""


def fits(module: nn.Module) -> bool:
    """Whether a module is better run by ``LeanLlama``."""
    return (
        can_be_lean(module)
        and module.num_parameters() <= SMALL
        and module.lm_head.weight.dtype is torch.float32
    )


def can_be_lean(module: nn.Module) -> bool:
    """Whether ``LeanLlama`` computes what this module does."""
    if type(module) is not LlamaForCausalLM:
        return False
    config = module.config
    return (
        config.hidden_act == "silu"
        and not (config.attention_bias or config.mlp_bias)
        and config.rope_parameters["rope_type"] == "default"
        and module.lm_head.weight.device.type == "cpu"
    )


def fastest(weight: Tensor) -> Product:
    """The product with a weight, float32 [out, in], in its fastest layout."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    better = layout(linear)
    return (better(linear) if better else linear).forward


def lean(module: nn.Module, product: Callable[[Tensor], Product] = fastest) -> "nn.Module | LeanLlama":
    """The faster stand-in for a module, or the module itself where there is none.

    Args:
        module: the model as loaded. product: as in ``LeanLlama``.
    """
    return LeanLlama(module, product) if fits(module) else module


class LeanLlama:
    """A plain Llama for inference on the CPU, batch 1.

    Args:
        module: whose weights to run; they must still be as loaded. Kept alive is only what is used.
        product: makes the product with a weight [out, in]; another one than ``fastest`` lowers
            the precision.

    Example:
        >>> from transformers import LlamaConfig
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> module, ids = LlamaForCausalLM(config).eval(), torch.tensor([[1, 2, 3]])
        >>> with torch.inference_mode():
        ...     ours = LeanLlama(module)(ids, DynamicCache(config=config), logits_to_keep=3).logits
        ...     torch.allclose(ours, module(ids).logits, atol=1e-5)
        True
    """

    def __init__(self, module: LlamaForCausalLM, product: Callable[[Tensor], Product] = fastest) -> None:
        self.config = module.config
        model = module.model
        self._embedding = model.embed_tokens.weight
        self._blocks = [_Block(layer, product) for layer in model.layers]
        self._norm = _norm(model.norm)
        self._head = product(_joined([module.lm_head]))
        self._rotation = _Rotation(model.rotary_emb, self._embedding, self.config.max_position_embeddings)

    def only(self, layers: Sequence[int]) -> "LeanLlama":
        """The same weights with some of the layers alone, in the order given: a draft made of the target.

        Example:
            >>> from transformers import LlamaConfig
            >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
            ...                      num_hidden_layers=3, num_attention_heads=2)
            >>> LeanLlama(LlamaForCausalLM(config).eval()).only([0, 2]).config.num_hidden_layers
            2
        """
        part = copy(self)
        part.config = deepcopy(self.config)
        part.config.num_hidden_layers = len(layers)
        part._blocks = [self._blocks[layer] for layer in layers]
        return part

    def reserve(self, places: int) -> tuple[Tensor, Tensor]:
        """Have ready what a sequence of so many tokens needs; gives those tables, [P, ...] each."""
        self._rotation.reserve(places)
        return self._rotation.tables

    def parameters(self) -> Iterator[Tensor]:
        """The embedding, which tells device and format."""
        yield self._embedding

    def __call__(
        self, input_ids: Tensor, cache: DynamicCache, logits_to_keep: int, use_cache: bool = True
    ) -> SimpleNamespace:
        """Logits as transformers gives them.

        Args:
            input_ids: int64 [1, n]. cache: what came before; it grows by n.
            logits_to_keep: for how many of the last tokens.

        Returns:
            An object whose ``logits`` are [1, logits_to_keep, V], in the format of the weights.
        """
        past, count = cache.get_seq_length(), input_ids.shape[1]
        self.reserve(past + count)
        mask = None if count == 1 else _mask(count, past, self._embedding.dtype)
        places = slice(past, past + count)
        logits = self.logits(input_ids[0], places, mask, cache.layers, logits_to_keep)
        return SimpleNamespace(logits=logits.unsqueeze(0))

    def logits(
        self,
        ids: Tensor,
        places: slice | Tensor,
        mask: Tensor | None,
        layers: Sequence[DynamicLayer],
        keep: int,
    ) -> Tensor:
        """One pass; [keep, V], or of all n tokens if ``keep`` is 0.

        Args:
            ids: int64 [n]. places: where they stand in the sequence.
            mask: added to the scores of each token's keys, [n, keys]; None if it sees all of them.
            layers: of the cache; each takes keys and values and gives all there are.
        """
        hidden = F.embedding(ids, self._embedding)
        cos, sin = self._rotation.tables
        for block, layer in zip(self._blocks, layers, strict=True):
            hidden = block(hidden, cos[places], sin[places], mask, layer)
        return self._head(self._norm(hidden[-keep:]))


class _Rotation:
    """Cosines and sines of the places of a sequence, made as far as they are needed.

    A model that takes a million tokens would otherwise have tables of a gigabyte, whatever is read.

    Attributes:
        tables: cosines and signed sines, [P, 1, size] each. Replaced as a whole, so that runs which
            read it meanwhile are not disturbed.
    """

    def __init__(self, rotary: nn.Module, like: Tensor, most: int) -> None:
        self._rotary, self._like, self._most = rotary, like, most
        self._growing = threading.Lock()
        self.tables = self._made(min(PLACES, most))

    def reserve(self, places: int) -> None:
        if places > len(self.tables[0]):
            with self._growing:
                if places > len(self.tables[0]):  # nobody made them meanwhile
                    self.tables = self._made(min(self._most, max(places, 2 * len(self.tables[0]))))

    @torch.inference_mode()
    def _made(self, places: int) -> tuple[Tensor, Tensor]:
        cos, sin = self._rotary(self._like, position_ids=torch.arange(places).unsqueeze(0))
        return cos[0].unsqueeze(1), _signed(sin[0]).unsqueeze(1)


class _Block:
    """One layer: attention and feed-forward, each with its norm before and its sum after."""

    def __init__(self, layer: nn.Module, product: Callable[[Tensor], Product]) -> None:
        attention, feed = layer.self_attn, layer.mlp
        self._size = attention.head_dim
        self._queries = attention.q_proj.out_features // self._size
        self._keys = attention.k_proj.out_features // self._size
        self._scale = attention.scaling
        self._before, self._between = _norm(layer.input_layernorm), _norm(layer.post_attention_layernorm)
        self._qkv = product(_joined([attention.q_proj, attention.k_proj, attention.v_proj]))
        self._out = product(_joined([attention.o_proj]))
        self._gate_up = product(_joined([feed.gate_proj, feed.up_proj]))
        self._down = product(_joined([feed.down_proj]))

    def __call__(
        self, hidden: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: DynamicLayer
    ) -> Tensor:
        """[n, width] -> [n, width]."""
        hidden = hidden + self._out(self._attend(self._before(hidden), cos, sin, mask, cache))
        gate, up = self._gate_up(self._between(hidden)).chunk(2, dim=-1)
        return hidden + self._down(F.silu(gate) * up)

    def _attend(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: DynamicLayer
    ) -> Tensor:
        """Attention of n new tokens over all so far; [n, width] -> [n, heads · size]."""
        count, turning = len(x), self._queries + self._keys
        heads = self._qkv(x).view(count, turning + self._keys, self._size)
        turned = _rotate(heads[:, :turning], cos, sin).transpose(0, 1)
        values = heads[:, turning:].transpose(0, 1).unsqueeze(0)
        keys, values = cache.update(turned[self._queries :].unsqueeze(0), values)
        # Queries that share a key stand as further rows beside it, so no key is copied.
        group = self._queries // self._keys
        queries = turned[: self._queries].reshape(1, self._keys, group * count, self._size)
        seen = mask if mask is None or group == 1 else mask.repeat(group, 1)
        mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, scale=self._scale)
        return mixed.reshape(self._queries, count, self._size).transpose(0, 1).reshape(count, -1)


def _mask(count: int, past: int, dtype: torch.dtype) -> Tensor:
    """0 where one of ``count`` new tokens may look, −∞ at those after it; [count, past + count].

    As numbers, which attention adds as they are; it would turn a mask of bools into them in each layer.
    """
    return torch.full((count, past + count), -torch.inf, dtype=dtype).triu(past + 1)


def _signed(sin: Tensor) -> Tensor:
    """The sines with those of the first half negated, as ``_rotate`` wants them; [P, size]."""
    first, second = sin.chunk(2, dim=-1)
    return torch.cat([-first, second], dim=-1)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (Su et al. 2021, arXiv 2104.09864) in transformers' half-split form.

    (a, b)·cos + (−b, a)·sin, where the sign of b lies in ``sin`` already.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)


def _norm(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """Root mean square normalisation (Zhang and Sennrich 2019, arXiv 1910.07467, equation 4); [n, width].

    x / √(ε + Σ x²/width) · weight, with ε shared out over the terms of the sum, so that one operation
    makes them: 16 µs for a row of 320 where ``F.rms_norm``, which is made of as many as seven, takes 26.
    """
    weight = norm.weight
    share = 1.0 / len(weight)
    floor = torch.full((), norm.variance_epsilon * share, dtype=weight.dtype, device=weight.device)
    return lambda x: x * torch.addcmul(floor, x, x, value=share).sum(-1, keepdim=True).rsqrt_() * weight


def _joined(linears: Sequence[nn.Linear]) -> Tensor:
    """The weights of several layers with one input, as those of one layer."""
    return torch.cat([linear.weight.detach() for linear in linears])
