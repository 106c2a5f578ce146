"""Models as folders that any engine can load: float16 safetensors, configuration, tokenizer."""

import os
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaForCausalLM

from specdec_core.training import tokenizer as tokenizer_files
from specdec_core.training.tokenizer import END_ID
from specdec_core.training.whole import write_text


def export_model(model: LlamaForCausalLM, tokenizer_folder: Path, folder: Path) -> None:
    """Write a model and its tokenizer; readers of the folder never see half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as partial:
        _save(model, Path(partial))
        for name in tokenizer_files.FILES:
            shutil.copyfile(tokenizer_folder / name, Path(partial) / name)
        for path in Path(partial).iterdir():
            path.chmod(0o644)  # safetensors writes files that only their owner may read
            os.replace(path, folder / path.name)


def _save(model: LlamaForCausalLM, folder: Path) -> None:
    half = LlamaForCausalLM(model.config).half()
    half.load_state_dict(model.state_dict())
    half.generation_config = GenerationConfig(eos_token_id=END_ID)
    half.save_pretrained(folder)


def load_exported(folder: Path) -> LlamaForCausalLM:
    """An exported model as it is used: its float16 weights, computed with in float32."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()


def write_card(folder: Path, text: str) -> None:
    """Replace a model's card in one step."""
    write_text(folder / "README.md", text)
