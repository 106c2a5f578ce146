"""What happened in a run: the trace, the figures derived from it, and its written form."""
