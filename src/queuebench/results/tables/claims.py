"""The table of claims."""

import pandas as pd

from queuebench.results.claims.ab_tests import ab_test_evidence
from queuebench.results.claims.loss_network import loss_evidence
from queuebench.results.claims.verdicts import claim_rows
from queuebench.results.tables.output import Markdown

COLUMNS = [
    "id", "claim", "source", "where", "measured", "lower", "upper", "verdict", "evidence",
]  # fmt: skip

NOTES = [
    "A claim says that a quantity lies in an interval. In one place (a cell, or a range of numbers of "
    "servers) it is supported if the quantity is significantly inside, and contradicted if it is "
    "significantly outside, by the standard error of just that quantity: of a difference or a ratio on "
    "the same records, of both sides if both are simulated. Overall a claim is *reproduced* if every "
    "place supports it, *not reproduced* if one contradicts it, each at a one-sided level of 2.5 % after "
    "Holm's correction over the places, and else *inconclusive*. A claim met better than stated is met.",
    "Every place, with what was measured and its 95 % interval, is a row of `claims.csv`.",
]


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


def claims_files(families, roles, **tables):
    """Return the verdicts on the claims of whichever parts the study has."""
    claims = ab_test_evidence(tables, families, roles) if "estimates" in tables else []
    claims += loss_evidence(tables) if "regret" in tables else []
    table = claims_table(claims)
    title = "Claims of the papers, judged by this study"
    return {"csv": table, "md": Markdown(overall(table), title, NOTES)}
