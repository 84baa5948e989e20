"""Figures: what a reader looks at. Each module draws one kind of figure from tables."""
