"""Pictures: a trace or a result becomes a Plotly figure. Nothing here knows Streamlit."""
