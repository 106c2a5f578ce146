"""The run that the app opens on, and from which every new run starts: on screen and on the command line.

Free of torch, so that a page or ``--help`` can name the defaults at once.
"""

from specdec_core.decoding.settings import RoundSettings, RuleName, Sampling

PAIR = "embedded"
PROMPT = "Once upon a time there was a king who had three sons"
RULE = RuleName.SPECULATIVE_SAMPLING
SEED = 17
MAX_NEW_TOKENS = 64
ROUND = RoundSettings(gamma=5, sampling=Sampling(temperature=0.8))
