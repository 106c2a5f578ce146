"""Speculative decoding, one round at a time: the engine behind the explorer.

Importing this package loads neither Streamlit nor Plotly; only ``specdec_core.ui``
and ``specdec_core.figures`` do.
"""

__version__ = "0.1.0"
