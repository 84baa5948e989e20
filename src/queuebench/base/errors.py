"""What the user can put right."""


class StudyError(ValueError):
    """A study that cannot be run; one sentence says what, where and what would be right."""
