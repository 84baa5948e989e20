"""Benchmarks for A/B tests of dispatch policies in queues and for lookahead in loss networks."""

__version__ = "0.1.0"
