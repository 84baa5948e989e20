"""What estimators share: the record, costs, windows, batches, intervals, the registry."""
