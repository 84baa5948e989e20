"""Making the tables that the catalogue describes."""

import json
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd

from queuebench.results.tables.output import Markdown, read_table, write_csv, write_markdown


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
    made = resolve_name(function)(**{name: _read(path) for name, path in inputs.items()}, **given)
    if isinstance(made, pd.DataFrame):
        made = dict.fromkeys(outputs, made)
    for key, table in made.items():
        write = write_markdown if isinstance(table, Markdown) else write_csv
        write(table, outputs[key])


def _read(path):
    if isinstance(path, str):
        return read_table(path)
    return [json.loads(Path(one).read_text()) for one in path]
