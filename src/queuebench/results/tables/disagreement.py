"""How often estimators that assume different things are found to disagree."""

import pandas as pd
from scipy import stats

from queuebench.results.tables.coverage import share
from queuebench.results.tables.rows import CELL

LEVEL = 0.05
_PAIRS = "t_"
_COLUMNS = [*CELL, "design", "compared", "replicates", "fires", "lower", "upper", "note"]


def disagreement_table(diagnostics, notes=None):
    """Return how often the comparison of estimators rejects that they estimate the same.

    Parameters
    ----------
    diagnostics : pandas.DataFrame
        Rows of `results/diagnostics.parquet`.
    notes : dict of str to str, optional
        What a reader must know about a scenario.

    Returns
    -------
    pandas.DataFrame
        One row per cell and design for the joint test of all that are there, and one for each pair:
        ``fires`` is the share of replicates that reject at 5 %, `lower` and `upper` its 95 %
        Clopper-Pearson interval. Where all assumptions hold it should be 5 %.
    """
    rows = []
    for key, group in diagnostics.groupby([*CELL, "design"], sort=False):
        said = {"note": (notes or {}).get(key[0], "")}
        for name, fires in _tests(group):
            found = share(int(fires.sum()), len(fires))
            rows.append(
                dict(zip([*CELL, "design"], key, strict=True))
                | {"compared": name, "replicates": len(fires), "fires": found["share"]}
                | {"lower": found["lower"], "upper": found["upper"]}
                | said
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


def _tests(group):
    """Yield the name of each comparison and whether it rejects, by replicate."""
    joint = group["disagreement"].dropna()
    if len(joint):
        yield "all", joint < LEVEL
    for column in group.columns[group.columns.str.startswith(_PAIRS)]:
        own = group[group[column].notna()]
        if len(own):
            p_values = 2 * stats.t.sf(own[column].abs(), own["freedom"])
            yield column.removeprefix(_PAIRS), p_values < LEVEL
