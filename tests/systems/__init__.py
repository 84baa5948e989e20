"""Small simulators that share no code with the package, to see what it says about their logs."""
