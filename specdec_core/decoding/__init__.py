"""The algorithm: laws, verification rules, the decoder and the plain baseline."""
