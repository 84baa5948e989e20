"""What the workflow needs of the package."""
