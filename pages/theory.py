"""Theory: why guessing ahead is fast, and why the text stays the target's own."""

import tomllib
from pathlib import Path

import numpy as np
import streamlit as st

from specdec_core import theory
from specdec_core.figures import overlap, style
from specdec_core.figures import theory as curves
from specdec_core.figures.palette import palette_for
from specdec_core.ui import links, shell

shell.frame()
WORDS = tomllib.loads((Path(__file__).parents[1] / "assets" / "theory.toml").read_text(encoding="utf-8"))
PALETTE = palette_for(st.context.theme.type)
READING = 760  # pixels: a line longer than that is hard to follow
TOKENS = {"king": (2, 5), "wolf": (2, 3), "sun": (6, 2)}  # weights of draft and target at the start


def show(fig: style.Figure, key: str) -> None:
    """Put up a figure of the house style."""
    st.plotly_chart(fig, theme=None, key=key, alt=style.alt(fig), config=style.CONFIG)


def law(side: int, letter: str) -> np.ndarray:
    """The distribution that three sliders set: weights made to sum to 1, equal if all are 0."""
    weights = [st.slider(name, 0, 10, start[side], key=f"{letter}_{name}") for name, start in TOKENS.items()]
    if not any(weights):
        st.caption("All weights are 0, so every token counts the same here.")
    values = np.array(weights if any(weights) else [1] * len(weights), dtype=float)
    return values / values.sum()


def verify(length: int) -> float:
    """v(γ) of the sliders: one pass, and a share of one for each draft in it."""
    return 1 + extra * length


with st.container(width=READING):
    for remark in links.theory_remarks(st.query_params.to_dict()):
        shell.notice(f"About the link: {remark}")
    st.header("Theory", anchor=False)
    st.markdown(WORDS["idea"])

st.subheader("One round", anchor="round")
for column, step in zip(st.columns(4), WORDS["step"], strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{step['title']}**\n\n{step['text']}")

st.subheader("Why the text is exactly the target's", anchor="exact")
proof, example = st.columns(2, gap="large")
with example:
    draft_side, target_side = st.columns(2, gap="medium")
    with draft_side:
        st.markdown("**Draft q**, as weights")
        q = law(0, "q")
    with target_side:
        st.markdown("**Target p**, as weights")
        p = law(1, "p")
    show(overlap.overlap(PALETTE, list(TOKENS), p, q), "overlap")
    show(overlap.rebuilt(PALETTE, list(TOKENS), p, q), "rebuilt")
with proof:
    kept = np.minimum(p, q)
    beta = float(kept.sum())
    residual = (p - kept) / (1 - beta) if beta < 1 - 1e-12 else np.zeros_like(p)
    sums = [
        rf"P(\text{{{name}}}) &= {a:.2f} + {1 - beta:.2f} \cdot {r:.2f} = {a + (1 - beta) * r:.2f} = p"
        for name, a, r in zip(TOKENS, kept, residual, strict=True)
    ]
    st.markdown(WORDS["exact"])
    st.latex(
        r"\begin{aligned} P(x) &= \min(p, q) + (1 - \beta) \cdot \frac{(p - q)_+}{1 - \beta} \\"
        r" &= \min(p, q) + (p - q)_+ = p \end{aligned}"
    )
    st.markdown(f"With the sliders' weights, β = {beta:.2f}:")
    st.latex(r"\begin{aligned} " + r" \\ ".join(sums) + r" \end{aligned}")
    st.markdown(WORDS["exact_sum"])

st.subheader("How many tokens, how fast", anchor="speed")
model, knobs = st.columns(2, gap="large")
with model:
    st.markdown(WORDS["speed"])
    st.latex(
        r"\begin{aligned} E &= \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha} && \text{tokens per round} \\[14pt]"
        r" S &= \frac{E}{\gamma c + v(\gamma)} && \text{speed-up} \end{aligned}"
    )
with knobs:
    left, right = st.columns(2, gap="medium")
    alpha = left.slider("Acceptance rate α", 0.0, 1.0, 0.75, 0.01, key="alpha", bind="query-params")
    gamma = left.slider("Draft length γ", 0, 16, 4, key="gamma", bind="query-params")
    c = right.slider("Draft step c", 0.0, 1.0, 0.15, 0.01, key="c", bind="query-params")
    extra = right.slider("Verify cost per draft", 0.0, 0.5, 0.03, 0.01, key="extra", bind="query-params")
    tokens = float(theory.expected_tokens(alpha, gamma))
    price = gamma * c + verify(gamma)
    bill = f"{gamma} · {c:.2f} + {verify(gamma):.2f} = **{price:.2f} passes**"
    gain = f"**{tokens / price:.2f}×** the speed of the target alone"
    st.markdown(f"**{tokens:.2f} tokens** a round for {bill}: {gain}.")
    st.caption("Modelled, not measured.")

charts = {
    "expected": curves.expected_tokens(PALETTE, alpha, gamma),
    "lengths": curves.round_lengths(PALETTE, alpha, gamma),
    "speedup": curves.speedup(PALETTE, alpha, gamma, c, verify),
}
for column, (key, fig) in zip(st.columns(3), charts.items(), strict=True):
    with column:
        show(fig, key)

st.subheader("Words", anchor="words")
st.markdown("Engines use the same words for different numbers. These are ours, and what others call them.")
for first in range(0, len(WORDS["word"]), 3):
    for column, word in zip(st.columns(3, gap="medium"), WORDS["word"][first : first + 3], strict=False):
        column.markdown(f"**{word['term']}.** {word['text']}")
        column.caption(word["elsewhere"])
with st.container(width=READING):
    st.caption(WORDS["sources"])
