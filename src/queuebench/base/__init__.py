"""What everything else stands on and what knows of nothing else here."""
