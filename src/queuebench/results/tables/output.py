"""Reading tables, and writing them as CSV for programs and Markdown for people."""

import pandas as pd

from queuebench.base.files import whole_file


def read_table(path):
    """Read a table of the study, CSV or Parquet by its name."""
    return pd.read_parquet(path) if str(path).endswith(".parquet") else pd.read_csv(path)


def write_csv(table, path):
    """Write a data frame as CSV with ten significant digits; missing values are empty."""
    with whole_file(path) as partial:
        table.to_csv(partial, index=False, float_format="%.10g")


def write_markdown(table, path, title, notes=(), first=()):
    """Write a data frame as a Markdown table with four significant digits, and notes below it.

    What comes `first` stands above the table.
    """
    text = table.to_markdown(index=False, floatfmt=".4g", missingval="")
    with whole_file(path) as partial:
        partial.write_text("\n\n".join([f"# {title}", *first, text, *notes]) + "\n")
