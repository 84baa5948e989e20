"""Tables: from estimates and truth to what a reader compares."""
