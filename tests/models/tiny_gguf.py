"""A tiny random Llama as a GGUF file, in the layout that llama.cpp's converter writes."""

import json
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def write(file: Path, module: LlamaForCausalLM, words: PreTrainedTokenizerFast, pre: str = "smollm") -> Path:
    """Write a model with tied embeddings and its tokenizer in float32 blocks."""
    config, writer = module.config, GGUFWriter(str(file), "llama")
    writer.add_name("Tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, words, pre)
    for name, tensor in module.state_dict().items():
        if name != "lm_head.weight":
            writer.add_tensor(_name(name), _laid_out(name, tensor.numpy().astype(np.float32), config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(writer: GGUFWriter, words: PreTrainedTokenizerFast, pre: str) -> None:
    model = json.loads(words.backend_tokenizer.to_str())["model"]
    tokens = sorted(words.get_vocab(), key=words.get_vocab().__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token == words.eos_token else 1 for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in model["merges"]])
    writer.add_eos_token_id(words.eos_token_id)
    writer.add_bos_token_id(words.eos_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem in NAMES:
        return f"{NAMES[stem]}.weight"
    _, _, number, rest = stem.split(".", 3)
    return f"blk.{number}.{NAMES[rest]}.weight"


def _laid_out(name: str, weight: np.ndarray, config) -> np.ndarray:
    """llama.cpp interleaves the halves that a rotation pairs up."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for kind, count in heads.items():
        if kind in name:
            return weight.reshape(count, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
    return weight
