"""Starting the run that the controls describe, once all that it needs is there."""

from typing import TYPE_CHECKING

from specdec_core.models.prompt import PromptError
from specdec_core.traces.trace import Framing
from specdec_core.ui.settings import Settings, over_limit

if TYPE_CHECKING:
    from specdec_core.experiments.live import LiveRun
    from specdec_core.models.pair import Pair


def live_run(pair: "Pair", settings: Settings) -> "LiveRun":
    """A live run on a loaded pair, its prompt read.

    Args:
        pair: the models.
        settings: what the controls say.

    Raises:
        PromptError: the prompt is empty or too long.
        ChatError: the model's chat template refuses it.
        ValueError: the draft is not to be had for this pair, or an option is out of its bounds.
        Busy: the device did not come free in time.
    """
    if sentence := over_limit(settings.prompt):
        raise PromptError(sentence)
    if settings.prompt and not settings.prompt.strip():
        raise PromptError("The prompt is blank. Type at least one word.")
    # These import torch, so only once a pair is there.
    from specdec_core.experiments.live import LiveRun
    from specdec_core.text.chat import has_template
    from specdec_core.ui.draft_choice import chosen

    return LiveRun.start(
        pair,
        settings.prompt,
        rule=settings.rule,
        seed=settings.seed,
        draft=chosen(pair, settings.draft).settings,
        framing=framing(settings, has_template(pair.tokenizer)),
        max_new_tokens=settings.max_tokens,
    )


def framing(settings: Settings, template: bool) -> Framing:
    """What stands around the prompt: nothing where the model has no chat template.

    >>> framing(Settings(chat=True, system="Be brief.", stop="."), False)
    Framing(chat=False, system='', stop_strings=('.',))
    """
    chat = settings.chat and template
    return Framing(chat, settings.system.strip() if chat else "", settings.stop_strings)
