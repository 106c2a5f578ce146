"""The target: a six-layer Llama that learns the stories themselves."""

from transformers import LlamaForCausalLM

from specdec_core.training.language import next_token_loss
from specdec_core.training.loop import Recipe, Report, Run
from specdec_core.training.schedule import Budget
from specdec_core.training.shapes import TARGET, new_model
from specdec_core.training.workshop import Workshop


def train_target(workshop: Workshop, budget: Budget, report: Report) -> LlamaForCausalLM:
    """Train the target, or go on where its checkpoint stands."""
    model = new_model(TARGET, workshop.seed)
    loss = next_token_loss(workshop.train_stream, workshop.seed)
    per_character = 1 / workshop.characters_per_token
    recipe = Recipe(budget=budget, loss_scale=per_character, loss_unit="nats/char")
    return Run(model, loss, recipe, workshop.checkpoint("target"), report).train()
