"""Reading tables, and writing them as CSV for programs and Markdown for people."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from queuebench.base.files import whole_file


def read_table(path):
    """Read a table of the study, CSV or Parquet by its name."""
    return pd.read_parquet(path) if str(path).endswith(".parquet") else pd.read_csv(path)


def read_json(paths):
    """Return the contents of JSON files in the given order."""
    return [json.loads(Path(path).read_text()) for path in paths]


def write_csv(table, path):
    """Write a data frame as CSV with ten significant digits; missing values are empty."""
    with whole_file(path) as partial:
        table.to_csv(partial, index=False, float_format="%.10g")


class Markdown(NamedTuple):
    """A data frame for people: with four significant digits, a title, what comes first, and notes below."""

    table: pd.DataFrame
    title: str
    notes: Sequence[str] = ()
    first: Sequence[str] = ()


def write_markdown(page, path):
    """Write a `Markdown` page."""
    text = page.table.to_markdown(index=False, floatfmt=".4g", missingval="")
    with whole_file(path) as partial:
        partial.write_text("\n\n".join([f"# {page.title}", *page.first, text, *page.notes]) + "\n")
