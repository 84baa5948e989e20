"""The table of claims."""

import pandas as pd

from queuebench.claims.verdicts import claim_rows

COLUMNS = [
    "id", "claim", "source", "where", "measured", "lower", "upper", "verdict", "evidence",
]  # fmt: skip


def claims_table(claims):
    """Return an overall row and a row per place for every claim that has evidence.

    Parameters
    ----------
    claims : list of (Claim, list of Evidence)

    Returns
    -------
    pandas.DataFrame
        ``measured``, ``lower`` and ``upper`` are the quantity named in `evidence` and its 95 %
        interval, at the place's least favourable comparison; empty in overall rows.
    """
    rows = [row for claim, evidence in claims for row in claim_rows(claim, evidence)]
    return pd.DataFrame(rows, columns=COLUMNS)


def overall(table):
    """Return the overall rows alone, for people."""
    kept = table[table["where"] == "overall"]
    return kept[["id", "claim", "verdict", "evidence"]]
