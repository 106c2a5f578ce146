"""Speculative decoding explorer: page configuration, navigation and the shell around the pages."""

from specdec_core.ui import shell

shell.run()
