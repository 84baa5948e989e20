"""What the jobs of the workflow do, a module each."""
