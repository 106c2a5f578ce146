"""Whole runs and many runs: what the pages and the command line call."""
