"""The rows a batch's job writes: those an earlier job has left, and those that are computed."""

import pyarrow.parquet as pq

from queuebench.base.arrow import table
from queuebench.base.files import whole_file
from queuebench.estimators.common.registry import all_estimators
from queuebench.pipeline.stages.diagnostics import DIAGNOSTICS_SCHEMA
from queuebench.pipeline.stages.estimate import ESTIMATES_SCHEMA, Wanted, asked_for
from queuebench.pipeline.stages.row_store import RowStore, store_of


class Rows:
    """The rows of a batch: those an earlier job has left, and those that are added.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    replicates : range
    outputs : pair of paths
        Of the estimates and of the diagnostics.
    keys : dict, optional
        What rows depend on, from `queuebench.pipeline.jobs.row_keys`; without, nothing is reused or left.
    say : Callable
        Called with a line of text where rows are reused or cannot be.
    """

    def __init__(self, cell, replicates, outputs, keys=None, say=lambda line: None):
        asked = {design: asked_for(cell, design) for design in cell.designs}
        estimates = [(design, *one) for design in asked for one in asked[design]]
        self._asked = asked
        self._outputs = outputs
        self._estimates = _Kind(
            ESTIMATES_SCHEMA,
            ("design", "estimator", "horizon", "replicate"),
            [(*one, replicate) for replicate in replicates for one in estimates],
        )
        self._diagnostics = _Kind(
            DIAGNOSTICS_SCHEMA,
            ("design", "replicate"),
            [(design, replicate) for replicate in replicates for design in asked],
        )
        if keys is not None:
            folder = store_of(outputs[0])
            self._estimates.reuse(
                RowStore(folder, "estimates", ESTIMATES_SCHEMA, replicates, say),
                lambda row: keys.get(row["design"], {}).get("estimates", {}).get(row["estimator"]),
            )
            self._diagnostics.reuse(
                RowStore(folder, "diagnostics", DIAGNOSTICS_SCHEMA, replicates, say),
                lambda row: keys.get(row["design"], {}).get("diagnostics"),
            )
            if reused := len(self._estimates.rows):
                total = len(self._estimates.order)
                say(f"{reused} of {total} estimates are those of an earlier run")

    def wanted(self, design, replicate):
        """Return what is still to be computed of a record, as `Wanted`."""
        undiagnosed = (design, replicate) not in self._diagnostics.rows
        # More goes into a comparison of estimates than their rows say.
        again = {entry.name for entry in all_estimators() if entry.compared and undiagnosed}
        missing = (
            name
            for name, horizon in self._asked[design]
            if name in again or (design, name, horizon, replicate) not in self._estimates.rows
        )
        return Wanted(frozenset(missing), undiagnosed)

    def add(self, found):
        """Add what `estimate_trace` returned."""
        for kind, rows in zip((self._estimates, self._diagnostics), found, strict=True):
            kind.add(rows)

    def write(self):
        """Write both kinds to Parquet files, in the order of replicates, designs and estimators.

        So rows stand in the same order however replicates are cut into batches, and whatever was
        reused.
        """
        for kind, path in zip((self._estimates, self._diagnostics), self._outputs, strict=True):
            kind.write(path)


class _Kind:
    """Rows of one schema by what tells them apart.

    Parameters
    ----------
    schema : pyarrow.Schema
    identity : tuple of str
        The columns that tell rows apart.
    order : list of tuple
        The identities of the rows asked for, as they are to stand in the file.
    """

    def __init__(self, schema, identity, order):
        self.schema = schema
        self.order = order
        self.rows = {}
        self._identity = identity
        self._store = None
        self._left = {}

    def reuse(self, store, key):
        """Take rows whose key is right from a store; the others are kept for a study that asks for them.

        Parameters
        ----------
        store : queuebench.pipeline.stages.row_store.RowStore
        key : Callable
            From a row to the key it must have, None for one that nobody asks for.
        """
        self._store, self._key = store, key
        for row in store.read():
            one = self._of(row)
            if row["key"] == key(row):
                self.rows[one] = row
            else:
                self._left[one] = row
        asked = set(self.order)
        for one in self.rows.keys() - asked:
            self._left[one] = self.rows.pop(one)

    def add(self, rows):
        self.rows.update((self._of(row), row) for row in rows)

    def write(self, path):
        found = table([self.rows[one] for one in self.order], self.schema)
        with whole_file(path) as partial:
            pq.write_table(found, partial)
        if self._store is not None:
            made = {one: row | {"key": self._key(row)} for one, row in self.rows.items()}
            self._store.write((self._left | made).values())

    def _of(self, row):
        return tuple(row[name] for name in self._identity)
