"""Names of arms and servers as small integers, in the order in which they first appear."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queuebench.logs.errors import LogError, rows_text, shorten
from queuebench.logs.read.values import MISSING, filled
from queuebench.study.explain import nearest

_NO_NAME = {*MISSING, "<NA>", "nan", "NaN", "NAN", "inf", "-inf"}
"""Labels that name nothing: what is left of an empty field on its way through other tools."""


def label(value):
    """Return the text under which a value of an arm or server column is known."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def numbered(names: list[str]):
    """Number names so that it does not matter which came first in a log.

    Returns
    -------
    ordered : list of str
        Whole numbers by value, then the other names.
    numbers : ndarray of int32, shape (len(names) + 1,)
        The place of each name in `ordered`; the last entry, which index -1 finds, is -1.
    """
    order = sorted(range(len(names)), key=lambda code: _sort_key(names[code]))
    numbers = np.full(len(names) + 1, -1, np.int32)
    numbers[order] = np.arange(len(names), dtype=np.int32)
    return [names[code] for code in order], numbers


def _sort_key(name):
    if name.isascii() and name.isdigit():
        return 0, int(name), name
    return 1, 0, name


def _as_number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Labels:
    """Numbers the different values of one column.

    Parameters
    ----------
    name : str
        Of the column, for messages.
    most : int
        Different values allowed.
    what : str
        What one value names, for the message about too many.
    """

    def __init__(self, name, most, what):
        self._name = name
        self._most = most
        self._what = what
        self._codes = {}

    def __len__(self):
        return len(self._codes)

    @property
    def known(self):
        """The labels by their numbers."""
        return list(self._codes)

    def encode(self, values, before):
        """Return the numbers of a batch of values as int32, -1 where empty or not a number (NaN).

        Raises
        ------
        LogError
            If there are more different values than allowed, or they are times.
        """
        if pa.types.is_duration(values.type):
            raise LogError(
                f"{self._name}: must be names or numbers, the column's type is {values.type}"
            )
        encoded = pc.dictionary_encode(values)
        distinct = encoded.dictionary
        if len(distinct) > 2 * self._most:
            self._refuse(before)
        codes = np.array([self._code(value) for value in distinct.to_pylist()] + [-1], np.int32)
        if len(self._codes) > self._most:
            self._refuse(before)
        return codes[filled(encoded.indices, len(distinct))]

    def find(self, wanted, key):
        """Return the number of a value that the description names.

        Parameters
        ----------
        wanted : str, bool, int or float
        key : str
            Of the description.

        Raises
        ------
        LogError
            If the column has no such value, with the nearest there is.
        """
        text = label(wanted)
        self._refuse_versions(wanted, key)
        if text in self._codes:
            return self._codes[text]
        alike = [code for known, code in self._codes.items() if known.lower() == text.lower()]
        if len(alike) == 1:
            return alike[0]
        near = nearest(text, [shorten(known)[1:-1] for known in self.known[:20]])
        quoting = "" if isinstance(wanted, str) else "; quote the value to have it as it is written"
        raise LogError(f"{key}: {self._name} is never {shorten(text)} in the log{near}{quoting}")

    def _refuse_versions(self, wanted, key):
        """Refuse a number such as 1.1 where the log has both 1.1 and 1.10, which YAML reads alike."""
        if not isinstance(wanted, float):
            return
        alike = [known for known in self.known if _as_number(known) == wanted]
        if len(alike) > 1:
            names = " and ".join(shorten(known) for known in alike[:2])
            raise LogError(
                f"{key}: {self._name} is both {names} in the log; quote the one that is meant"
            )

    def encode_one(self, value):
        """Return the number of one value."""
        return self._code(value)

    def _code(self, value):
        text = label(value)
        return -1 if text in _NO_NAME else self._codes.setdefault(text, len(self._codes))

    def _refuse(self, before):
        raise LogError(
            f"{rows_text([before + 1])} and after: {self._name}: more than {self._most:,} different "
            f"values; is it the name of {self._what}?"
        )
