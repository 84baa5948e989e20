"""The numbers of README's two tables, from the results of the default study.

``python -m benchmarks.readme results`` prints both tables, and the cells in which README.md says something
else; it ends with status 1 if there are any.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

_ESTIMATORS = {
    "naive": "", "group": "", "switchback": "", "switchback_burn_in": "", "qdq": "", "wdq": "",
    "mixed_dq": "", "switchback_corrected": " (this and what follows: beyond the paper)",
    "mixed_dq_coupled": " (both arms' choices logged)", "lstd_dq": " (the same)",
    "replay": " (policies and speeds known)",
}  # fmt: skip
"""Shown with what a reader must know of them."""
_REGRET = {
    "online optimum (exact)": ("online", "exact", None),
    "SSS, window log(N)/N": ("sss", "simulated", 1.0),
    "SSS, window 16 log(N)/N": ("sss", "simulated", 16.0),
    "PFI (infinite lookahead)": ("pfi", "simulated", None),
    "offline optimum": ("offline", "simulated", None),
}
"""Policy, source and window multiplier by what a row is called."""


def estimator_rows(mse):
    """Return header and rows of bias / standard deviation in the homogeneous scenario.

    Parameters
    ----------
    mse : pandas.DataFrame
        Rows of `results/tables/mse.csv`.

    Returns
    -------
    list of list of str
    """
    rows = mse[(mse["scenario"] == "homogeneous") & mse["main"]]
    effects = rows.groupby("load")["gte"].first()
    header = [f"load {load:g} (effect {effect:.3f})" for load, effect in effects.items()]
    cells = rows.set_index(["estimator", "load"])
    return [
        ["estimator", *header],
        *(
            [f"`{name}`{said}", *(_bias_and_sd(cells.loc[(name, load)]) for load in effects.index)]
            for name, said in _ESTIMATORS.items()
        ),
    ]


def _bias_and_sd(row):
    return f"{row['bias']:+.3f} / {row['sd']:.3f}"


def regret_rows(regret):
    """Return header and rows of regret per unit of time by number of servers.

    Parameters
    ----------
    regret : pandas.DataFrame
        Rows of `results/tables/regret.csv`.

    Returns
    -------
    list of list of str
    """
    servers = sorted(regret["servers"].unique())
    keyed = regret.fillna({"window_multiplier": 0.0})
    keyed = keyed.set_index(["policy", "source", "window_multiplier", "servers"])["regret"]
    return [
        ["N", *map(str, servers)],
        *(
            [label, *(_rate(keyed.get((policy, source, c or 0.0, n))) for n in servers)]
            for label, (policy, source, c) in _REGRET.items()
        ),
    ]


def _rate(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def tables_of(text):
    """Return the Markdown tables of a text as lists of rows of cells, without their rulers."""
    tables, table = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            tables.append([table[0], *table[2:]])
            table = []
    return tables


def differences(rows, text):
    """Return a sentence for each cell in which a text's table differs from what it should say.

    Parameters
    ----------
    rows : list of list of str
        As they should be, the header first.
    text : str
        Markdown; its table is the one whose header begins alike.

    Returns
    -------
    list of str
    """
    title = rows[0][0]
    found = next((table for table in tables_of(text) if table[0][0] == title), None)
    if found is None:
        return [f"no table whose first column is called {title}"]
    said = {row[0]: row for row in found}
    problems = [
        f"{label}: a row too many" for label in said if label not in {row[0] for row in rows}
    ]
    for label, *cells in rows:
        there = said.get(label, [label])[1:]
        if len(there) != len(cells):
            problems.append(f"{label}: {len(there)} numbers instead of {len(cells)}")
            continue
        problems += [
            f"{label}, {column}: says {is_said}, the results {result}"
            for column, is_said, result in zip(rows[0][1:], there, cells, strict=True)
            if is_said != result
        ]
    return problems


def _markdown(rows):
    ruler = ["---"] * len(rows[0])
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ruler, *rows[1:]))


def main(arguments=None):
    """Print the tables and what README says otherwise; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of the default study's results")
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    args = parser.parse_args(arguments)
    tables = [
        estimator_rows(pd.read_csv(args.results / "tables/mse.csv")),
        regret_rows(pd.read_csv(args.results / "tables/regret.csv")),
    ]
    text = args.readme.read_text()
    problems = [problem for rows in tables for problem in differences(rows, text)]
    print("\n\n".join(map(_markdown, tables)))
    for problem in problems:
        print(f"{args.readme}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
