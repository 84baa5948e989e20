"""From a file and its description to clean columns."""
