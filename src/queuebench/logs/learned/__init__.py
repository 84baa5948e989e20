"""A system learnt from a log, and run at other shares."""
