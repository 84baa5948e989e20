"""Which of a log's arm labels is treatment, which control, and that there is no third."""

import numpy as np

from queuebench.logs.errors import LogError, rows_text, shorten
from queuebench.logs.read.problems import Problems

_MISSING = (
    "arm is missing; every row of the record needs one (or say `without_arm: present` if such jobs were "
    "only present)"
)


class Arms:
    """Tells the arms apart and counts them.

    Parameters
    ----------
    labels : queuebench.logs.read.labels.Labels
        Of the arm column.
    config : queuebench.logs.read.description.LogConfig

    Raises
    ------
    LogError
        If the treatment's or the control's label never occurs.
    """

    def __init__(self, labels, config):
        self._labels = labels
        self.treatment = labels.find(config.treatment, "treatment")
        self._control = None if config.control is None else labels.find(config.control, "control")
        if self._control == self.treatment:
            raise LogError(f"control: is the same as treatment, {shorten(config.control)}")
        self._unlabelled = Problems()
        # One place more than there are labels, for rows without one (label -1).
        self._count = np.zeros(len(labels) + 1, np.int64)
        self._first = np.full(len(labels) + 1, np.iinfo(np.int64).max)

    @property
    def names(self):
        """Labels of control and treatment."""
        known = self._labels.known
        seen = [code for code in range(len(known)) if self._count[code] and code != self.treatment]
        return known[seen[0] if self._control is None else self._control], known[self.treatment]

    def treated(self, arm, rows):
        """Return who of a batch of recorded arrivals is treated.

        Parameters
        ----------
        arm : ndarray of int32
            Label numbers, -1 where missing.
        rows : ndarray of int64
            Row numbers.

        Returns
        -------
        ndarray of bool
        """
        self._unlabelled.add(arm < 0, rows, _MISSING)
        self._count += np.bincount(arm % len(self._count), minlength=len(self._count))
        np.minimum.at(self._first, arm, rows)
        return arm == self.treatment

    def check(self):
        """Refuse a record without exactly two arms.

        Raises
        ------
        LogError
            If a row has no arm, an arm is empty, or there is a third one.
        """
        self._unlabelled.refuse()
        count = self._count[:-1].tolist()
        others = [code for code, jobs in enumerate(count) if jobs and code != self.treatment]
        if not count[self.treatment]:
            raise LogError(
                f"no row of the record is the treatment {self._name(self.treatment)}: it has "
                f"{self._list(others)}; an arm is empty"
            )
        if not others or (self._control is not None and not count[self._control]):
            raise LogError(
                f"every row of the record is {self._list([self.treatment, *others])}; "
                "the control arm is empty"
            )
        if len(others) > 1:
            third = others[1] if self._control is None else min(set(others) - {self._control})
            raise LogError(
                f"{rows_text([int(self._first[third])], count[third])}: arm is "
                f"{self._name(third)}, but an experiment has two arms and the record has "
                f"{len(others) + 1}: {self._list([self.treatment, *others])}"
            )

    def _name(self, code):
        return shorten(self._labels.known[code])

    def _list(self, codes):
        return ", ".join(f"{self._name(code)} ({self._count[code]:,} rows)" for code in codes)
