"""Plain, slow references, written from the specification alone, to test fast code against."""
