"""Explore: one run of speculative decoding, round by round and token by token."""

import streamlit as st

from specdec_core.ui import charts, controls, machine, rounds, session, shell

top = shell.frame()
if shell.just_opened():
    session.restore()

with st.sidebar:
    controls.panel()

with top:
    machine.watch()
rounds.view()
charts.view()
