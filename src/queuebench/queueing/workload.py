"""A real workload: arrival times and job sizes from a file, made dimensionless.

The file gives the rhythm of arrivals and the sizes; the study gives the load. Gaps between arrivals are
scaled to mean one and so are sizes, and a run goes through the file in a circle from a random place, so
that replicates differ and a record may be longer than the file.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow.csv as pc

from queuebench.base.errors import StudyError


@dataclass(frozen=True)
class Workload:
    """Gaps and sizes of a workload's jobs, in the order of their arrival.

    Attributes
    ----------
    gaps : ndarray of float64, shape (n,)
        Time from the previous arrival, mean 1; the first is the mean gap, closing the circle.
    sizes : ndarray of float64, shape (n,)
        Service requirements, mean 1.
    """

    gaps: np.ndarray
    sizes: np.ndarray

    @property
    def ties(self):
        """Share of jobs that arrive at the same time as the one before."""
        return float(np.mean(self.gaps[1:] == 0))

    def describe(self):
        """Return a line for a job's log: how many jobs, how many at once and what that does."""
        text = f"recorded workload of {len(self.gaps):,} jobs"
        if not self.ties:
            return text
        return (
            f"{text}, {self.ties:.1%} of which arrive at the same time as the one before: they are "
            "dispatched one after the other and see each other's, so they meet more jobs than the time "
            "average; this is the file's clock or its batches, not a stream of single arrivals"
        )


def content_hash(settings):
    """Return a hash of a workload's file, None without a workload."""
    if settings is None:
        return None
    with open(settings.path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_workload(settings) -> Workload:
    """Read a workload.

    Parameters
    ----------
    settings : queuebench.study.system.WorkloadFile
        Path, the column of arrival times, and the columns whose weighted sum is a job's size.

    Raises
    ------
    StudyError
        If the file or a column is missing, a value is not a number or a time, times do not
        increase, or a size is not positive; with the row.
    """
    path = Path(settings.path)
    try:
        columns = _read_lines(path) if path.suffix == ".jsonl" else _read_csv(path)
    except OSError as error:
        raise StudyError(f"workload.path: {path} cannot be read ({error.strerror})") from None
    times = _times(path, settings.time, _column(path, columns, settings.time))
    sizes = sum(
        weight * _numbers(path, name, _column(path, columns, name))
        for name, weight in settings.size.items()
    )
    return normalise(path, times, sizes)


def normalise(path, times, sizes):
    """Return the workload of some times and sizes, refusing what cannot be one."""
    if len(times) < 2:
        raise StudyError(f"workload.path: {path} has fewer than two jobs")
    steps = np.diff(times)
    if np.any(steps < 0):
        row = int(np.argmax(steps < 0)) + 2
        raise StudyError(f"workload.path: {path}, row {row} arrives before the row above it")
    if not np.all(sizes > 0):
        row = int(np.argmax(~(sizes > 0))) + 1
        raise StudyError(f"workload.size: {path}, row {row} has a size that is not above 0")
    if steps.sum() == 0:
        raise StudyError(f"workload.path: {path}: all jobs arrive at the same time")
    gaps = np.concatenate([[steps.mean()], steps])
    return Workload(gaps / gaps.mean(), sizes / sizes.mean())


def _read_csv(path):
    table = pc.read_csv(path, read_options=pc.ReadOptions(block_size=1 << 26))
    return {name: table[name].to_pylist() for name in table.column_names}


def _read_lines(path):
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}


def _column(path, columns, name):
    if name not in columns:
        raise StudyError(
            f"workload: {path} has no column {name}; its columns are {', '.join(columns)}"
        )
    return columns[name]


def _times(path, name, values):
    """Return times as seconds from the first, whether numbers or dates."""
    if values and isinstance(values[0], str):
        values = [datetime.fromisoformat(value[:26]) for value in values]
    if values and isinstance(values[0], datetime):
        first = values[0]
        return np.array([(value - first).total_seconds() for value in values])
    return _numbers(path, name, values)


def _numbers(path, name, values):
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        found = np.array([_number(value) for value in values])
    if not np.all(np.isfinite(found)):
        row = int(np.argmax(~np.isfinite(found))) + 1
        raise StudyError(f"workload: {path}, row {row}, column {name}: not a finite number")
    return found


def _number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan
