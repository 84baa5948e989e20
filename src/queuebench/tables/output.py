"""Writing tables as CSV for programs and Markdown for people."""

from queuebench.files import whole_file


def write_csv(table, path):
    """Write a data frame as CSV with ten significant digits; missing values are empty."""
    with whole_file(path) as partial:
        table.to_csv(partial, index=False, float_format="%.10g")


def write_markdown(table, path, title, notes=()):
    """Write a data frame as a Markdown table with four significant digits, and notes below it."""
    text = table.to_markdown(index=False, floatfmt=".4g", missingval="")
    with whole_file(path) as partial:
        partial.write_text("\n\n".join([f"# {title}", text, *notes]) + "\n")
