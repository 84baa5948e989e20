"""What is looked for in a record before a number is believed."""
