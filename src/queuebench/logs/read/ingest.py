"""The first pass over a log: every field converted and checked by itself, and written as columns."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from queuebench.logs.errors import LogError, about, first_line
from queuebench.logs.read.clock import UNITS, Clock, factor
from queuebench.logs.read.labels import Labels, label
from queuebench.logs.read.moments import read_clock, read_moments
from queuebench.logs.read.problems import Problems
from queuebench.logs.read.sources import locate, open_log
from queuebench.logs.read.values import filled, missing, plain, to_counts, to_floats

MOST_ARMS = 64
MOST_STATUSES = 1000
MOST_SERVERS = 65_536
MOST_BLOCKS = 1_000_000
MOST_CLASSES = 1000
USER_ROWS = 1_000_000
"""Rows whose users are looked at."""

_KINDS = {
    "arrival": np.float64,
    "response": np.float64,
    "arm": np.int32,
    "server": np.int32,
    "queue_length": np.int32,
    "in_system": np.int32,
    "server_if_control": np.int32,
    "server_if_treated": np.int32,
    "queue_if_control": np.int32,
    "queue_if_treated": np.int32,
    "block": np.int32,
    "share": np.float64,
    "size": np.float64,
    "job_class": np.int32,
    "failed": np.bool_,
}
_ROLES = {"failed": "status"}
"""Roles of the log's columns that stored ones of another name come from."""
_ALWAYS = ("arrival", "response", "arm", "server")
_CHOICES = ("server_if_control", "server_if_treated")
_NUMBERS = ("share", "size")
_COUNTS = ("queue_length", "in_system", "queue_if_control", "queue_if_treated")


@dataclass
class RawLog:
    """A log whose fields are converted but whose rows are as they came.

    Attributes
    ----------
    columns : dict of str to ndarray
        ``arrival`` since the clock's origin, ``response`` (NaN for unfinished jobs), ``arm``,
        ``server`` and ``block`` as numbers of labels, both arms' choices like ``server`` (-1 where
        missing), ``queue_length`` and the other lengths, ``share`` (NaN where missing), ``failed`` by the
        status; the optional ones only if the log has them.
        Row ``i`` of the log is element ``i - 1``.
    clock : Clock
    arms, servers : Labels
    users : ndarray of int32
        Of the first rows, empty if the log names none.
    sorted : bool
        Whether arrivals never decrease.
    last : float
        The last arrival or departure.
    longest : float
        The longest response of a finished job; NaN if none is finished.
    """

    clock: Clock
    arms: Labels
    servers: Labels
    columns: dict = field(default_factory=dict)
    users: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    sorted: bool = True
    last: float = -np.inf
    longest: float = np.nan

    @property
    def rows(self):
        """Number of rows."""
        return len(self.columns["arrival"])


def stored_columns(config):
    """Return the kinds of the columns that a log described by `config` is stored in."""
    optional = [name for name in _KINDS if name not in _ALWAYS]
    wanted = [name for name in optional if getattr(config.columns, _ROLES.get(name, name))]
    names = [*_ALWAYS, *wanted]
    return {name: _KINDS[name] for name in names}


def ingest(path, config, store) -> RawLog:
    """Read a log into a store.

    Parameters
    ----------
    path : str or pathlib.Path
    config : queuebench.logs.read.description.LogConfig
    store : queuebench.logs.record.store.ColumnStore
        With the columns of `stored_columns`.

    Raises
    ------
    LogError
        If the file cannot be read, has no rows, or a field cannot be what its column says.
    """
    source = open_log(path, config.delimiter)
    positions = locate(source, config.columns.model_dump(exclude_none=True), path)
    reader = _Reader(config, store)
    # Infinite times are found and refused; on the way there they may be added and subtracted.
    with about(path), np.errstate(invalid="ignore", over="ignore"):
        try:
            for arrays in source.batches(list(positions.values())):
                if len(arrays[0]):
                    reader.read(dict(zip(positions, arrays, strict=True)))
        except LogError:
            reader.problems.refuse()  # what is wrong in earlier rows comes first
            raise
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise LogError(
                f"after row {reader.rows}: cannot be read ({first_line(error)})"
            ) from None
        reader.problems.refuse()
        if not reader.rows:
            raise LogError("has no rows")
    return reader.finish()


def _usable(times):
    """Return which times are finite and can be squared."""
    return np.abs(times) < 1e100


class _Reader:
    """Converts batch after batch."""

    def __init__(self, config, store):
        self.rows = 0
        self.problems = Problems()
        self._config = config
        self._store = store
        self._names = config.columns.model_dump(exclude_none=True)
        self._log = RawLog(
            clock=None,
            arms=Labels(self._name("arm"), MOST_ARMS, "an arm"),
            servers=Labels(self._name("server"), MOST_SERVERS, "a server"),
        )
        self._blocks = Labels(self._name("block"), MOST_BLOCKS, "a block")
        self._user_labels = Labels(self._name("user"), 2 * USER_ROWS, "a user")
        self._classes = Labels(self._name("job_class"), MOST_CLASSES, "a class")
        self._statuses = Labels(self._name("status"), MOST_STATUSES, "a way to end")
        self._users = []
        self._previous = -np.inf

    def _name(self, role):
        """Return the role of a column, with the column's own name where it differs."""
        name, role = self._names.get(role, role), role.removeprefix("job_")
        return role if name == role else f"{role} ({name})"

    def read(self, arrays):
        """Convert, check and store one batch."""
        arrays = {
            role: plain(values, self._name(role), self.rows) for role, values in arrays.items()
        }
        count = len(arrays["arrival_time"])
        columns = {"arrival": self._arrivals(arrays["arrival_time"])}
        failed = self._failed(arrays)
        columns["response"] = self._responses(arrays, columns["arrival"], failed)
        if "status" in arrays:
            columns["failed"] = failed
        columns["arm"] = self._log.arms.encode(arrays["arm"], self.rows)
        columns["server"] = self._servers(arrays, count)
        for name in _CHOICES:
            if name in arrays:
                columns[name] = self._log.servers.encode(arrays[name], self.rows)
        for name in _COUNTS:
            if name in arrays:
                columns[name] = to_counts(arrays[name], self._name(name), self.rows)
        if "block" in arrays:
            columns["block"] = self._blocks.encode(arrays["block"], self.rows)
        for name in _NUMBERS:
            if name in arrays:
                columns[name] = to_floats(arrays[name], self._name(name), self.rows)
        if "job_class" in arrays:
            columns["job_class"] = self._classes.encode(arrays["job_class"], self.rows)
        if "user" in arrays and self.rows < USER_ROWS:
            self._users.append(self._user_labels.encode(arrays["user"], self.rows))
        self._store.append(**columns)
        self.rows += count

    def finish(self):
        """Return the whole log."""
        self._log.columns = self._store.read()
        if self._users:
            self._log.users = np.concatenate(self._users)
        return self._log

    def _arrivals(self, values):
        name = self._name("arrival_time")
        empty = missing(values)
        self.problems.add(empty, self.rows, f"{name} is missing; every row needs one")
        if self._log.clock is None:
            if empty.all():
                return np.full(len(values), np.nan)
            self._log.clock = read_clock(values, name)
        arrival = self._moments(values, "arrival_time")
        self.problems.add(
            ~_usable(arrival) & ~empty, self.rows, f"{name} must be finite, not NaN or infinite"
        )
        self._check_not_negative(arrival, name)
        self._follow(arrival)
        return arrival

    def _check_not_negative(self, arrival, name):
        clock = self._log.clock
        if clock.dates or self._config.start is not None:
            return
        scale = factor(self._config.unit("arrival_time"), self._config.time_unit)
        self.problems.add(
            arrival < -clock.origin * scale, self.rows,
            f"{name} is negative; if the log begins before the experiment, say with `start` where "
            "the record starts",
        )  # fmt: skip

    def _follow(self, arrival):
        if np.any(arrival[1:] < arrival[:-1]) or arrival[0] < self._previous:
            self._log.sorted = False
        self._previous = arrival[-1]
        self._log.last = np.fmax(self._log.last, np.fmax.reduce(arrival))

    def _moments(self, values, role):
        return read_moments(
            values, self._log.clock, self._name(role), self.rows,
            self._config.unit(role), self._config.time_unit,
        )  # fmt: skip

    def _failed(self, arrays):
        """Return which jobs failed by their status."""
        if "status" not in arrays:
            return np.zeros(len(arrays["arrival_time"]), bool)
        name, meaning = self._name("status"), self._config.status
        codes = self._statuses.encode(arrays["status"], self.rows)
        end = "response_time" if "response_time" in arrays else "departure_time"
        self.problems.add(
            (codes < 0) & ~missing(arrays[end]), self.rows,
            f"{name} is missing; every finished job needs one",
        )  # fmt: skip
        # The last place is for rows without a status, which are unfinished.
        success, failure = (
            np.array(
                [known in map(label, values or ()) for known in self._statuses.known] + [False]
            )
            for values in (meaning.success, meaning.failure)
        )
        if meaning.success is not None and meaning.failure is not None:
            self.problems.add(
                ~(success | failure)[codes] & (codes >= 0), self.rows,
                f"{name} is a value that is neither in status.success nor in status.failure",
            )  # fmt: skip
        return ((failure if meaning.failure is not None else ~success)[codes]) & (codes >= 0)

    def _responses(self, arrays, arrival, failed):
        role = "response_time" if "response_time" in arrays else "departure_time"
        values = arrays[role]
        name = self._name(role)
        empty = missing(values)
        if role == "response_time":
            response = self._durations(values, name)
            what = f"{name} is negative"
        elif self._log.clock is None:
            return np.full(len(values), np.nan)
        else:
            response = self._moments(values, role) - arrival
            what = f"{name} is before the arrival"
        # What stands there for a job that failed may mean nothing, such as 0 for the last answer's time.
        if failed.any():
            meant = (response >= 0) & _usable(response)
            response = np.where(failed & ~meant, np.nan, response)
        known = ~empty & ~failed & np.isfinite(arrival)
        self.problems.add(
            known & ~_usable(response), self.rows,
            f"{name} must be finite, not NaN or infinite; leave it empty for an unfinished job",
        )  # fmt: skip
        self.problems.add(
            response < 0, self.rows,
            f"{what}; times must run forward (leave it empty for a job without an end, or name a status)",
        )  # fmt: skip
        if travel_time := self._config.travel_time:
            self.problems.add(
                (response >= 0) & (response < travel_time) & ~failed, self.rows,
                f"the response is shorter than the travel_time of {travel_time:g}",
            )  # fmt: skip
        if not empty.all():
            ended = np.where(failed, np.nan, response)
            self._log.longest = np.fmax(self._log.longest, np.fmax.reduce(ended))
            self._log.last = np.fmax(self._log.last, np.fmax.reduce(arrival + response))
        return response

    def _durations(self, values, name):
        kind = values.type
        into = self._config.time_unit
        if pa.types.is_duration(kind):
            whole = filled(values.view(pa.int64()), 0)
            durations = whole * (UNITS[kind.unit] / UNITS[into])
            durations[missing(values)] = np.nan
            return durations
        durations = to_floats(values, name, self.rows)
        unit = self._config.unit("response_time")
        return durations if unit == into else durations * factor(unit, into)

    def _servers(self, arrays, count):
        if "server" not in arrays:
            self._log.servers.encode_one("all")
            return np.zeros(count, np.int32)
        servers = self._log.servers.encode(arrays["server"], self.rows)
        name = self._name("server")
        self.problems.add(servers < 0, self.rows, f"{name} is missing; every row needs one")
        return servers
