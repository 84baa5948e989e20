"""From collected estimates to what a reader looks at."""
