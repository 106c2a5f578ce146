"""Everything that draws with Streamlit; the rest of the package knows nothing of it."""
