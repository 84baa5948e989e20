"""From columns to the record that estimators read."""
