"""Speculative decoding explorer: page configuration, navigation and the shell around the pages.

Streamlit reads this file once to learn what to serve, and then runs it for every visitor.
"""

import streamlit as st
from streamlit import runtime

from specdec_core.ui import server, shell

if runtime.exists():
    shell.run()
else:
    server.prepare()
    app = st.App(__file__)
