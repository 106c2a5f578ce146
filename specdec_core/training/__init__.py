"""Training of the embedded pair: corpus, tokenizer, target, samples, drafts, report.

Everything here runs headless and is reached through ``python -m specdec_core train``.
"""
