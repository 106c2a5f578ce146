"""From a GGUF file to a folder in Hugging Face format, once, so that later starts are fast.

transformers reads GGUF with the ``gguf`` package: it unpacks the blocks and rebuilds config and
tokenizer from the header, which takes half a minute for a small model and a second from
safetensors. Values are kept in float16, which is finer than any quantised block.
"""

from pathlib import Path
from typing import Any

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from specdec_core.models.errors import PairError
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.weights_progress import GGUF, WRITING, counted

SINGLE_DIGITS = {"smollm", "starcoder", "refact", "command-r"}
"""Splits of llama.cpp (``tokenizer.ggml.pre``) that set every digit apart before GPT-2's own.

transformers 5.24 leaves that step out, and text such as "a  2" would be cut in another way than
the model was trained on.
"""


def convert(file: Path, folder: Path, meter: Meter) -> None:
    """Write the model of ``file`` into ``folder``: safetensors, config, tokenizer, chat template.

    Args:
        file: a GGUF file.
        folder: an existing folder.
        meter: told of the bytes; a cancelled meter ends the work.

    Raises:
        PairError: the file cannot be read, or holds a kind of model that transformers does not know.
        Cancelled: the work was cancelled.
    """
    try:
        meter.stage("reading the tokenizer")
        tokenizer = _tokenizer(file)
        meter.stage("unpacking weights", file.stat().st_size)
        module = _module(file, meter)
        size = 2 * module.num_parameters()
        meter.stage("writing safetensors", size)
        with counted(meter, size, loop=WRITING):
            module.half().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except Cancelled:
        raise
    except Exception as error:
        # transformers raises whatever the file makes it raise; all of it means the same here.
        reason = str(error).strip().split("\n")[0]
        raise PairError(f"{file.name} cannot be read as a model: {reason}") from error


def header(file: Path) -> dict[str, Any]:
    """The metadata of a GGUF file; long lists are given as their lengths.

    Raises:
        ValueError: it is not a GGUF file.
    """
    from transformers.integrations.gguf.reader import read_gguf_metadata

    return read_gguf_metadata(str(file))[0]


def _tokenizer(file: Path) -> PreTrainedTokenizerBase:
    tokenizer = AutoTokenizer.from_pretrained(
        file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False
    )
    if header(file).get("tokenizer.ggml.pre") in SINGLE_DIGITS:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    return tokenizer


def _module(file: Path, meter: Meter) -> PreTrainedModel:
    """The model with plain weights, as if it had never been quantised."""
    with counted(meter, file.stat().st_size, loop=GGUF):
        packed = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
        )
    config = packed.config
    # Saved with the setting, the model would look for the GGUF file whenever it is loaded.
    del config.quantization_config
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    plain.load_state_dict(packed.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = packed.generation_config
    return plain
