"""Claims of the papers, each with a rule that can fail, judged from the tables and their errors."""
