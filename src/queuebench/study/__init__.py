"""What a study may say: settings, cells, and what a wrong one is told."""
