"""Making the tables that the catalogue describes."""

from pkgutil import resolve_name

import pandas as pd

from queuebench.results.tables.output import (
    Markdown,
    read_json,
    read_table,
    write_csv,
    write_markdown,
)


def make_tables(function, inputs, outputs, given):
    """Make tables and write them.

    Parameters
    ----------
    function : str
        ``module:function``, see `queuebench.results.catalogue.Table`.
    inputs : dict of str to path or list of paths
        A list is of JSON files.
    outputs : dict of str to path
    given : dict
    """
    tables = {
        name: read_table(path) if isinstance(path, str) else read_json(path)
        for name, path in inputs.items()
    }
    made = resolve_name(function)(**tables, **given)
    if isinstance(made, pd.DataFrame):
        made = dict.fromkeys(outputs, made)
    for key, table in made.items():
        write = write_markdown if isinstance(table, Markdown) else write_csv
        write(table, outputs[key])
