"""README's tables against results: here made-up ones; the command is for those of the default study."""

import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import readme  # noqa: E402


@pytest.fixture
def results(tmp_path):
    """Results of a study of two loads and two numbers of servers."""
    mse = [
        {"scenario": scenario, "load": load, "estimator": name, "main": main, "gte": -0.13811,
         "bias": 0.0012345 * k, "sd": 0.5 if main else 9.0}
        for scenario in ("homogeneous", "other")
        for load in (0.5, 0.7)
        for k, name in enumerate(readme._ESTIMATORS)
        for main in (True, False)
    ]  # fmt: skip
    regret = [
        {
            "servers": n,
            "policy": policy,
            "source": source,
            "window_multiplier": c,
            "regret": n + 0.255,
        }
        for n in (16, 4096)
        for policy, source, c in readme._REGRET.values()
        if (policy, n) != ("offline", 4096)
    ]
    (tmp_path / "tables").mkdir()
    pd.DataFrame(mse).to_csv(tmp_path / "tables/mse.csv", index=False)
    pd.DataFrame(regret).to_csv(tmp_path / "tables/regret.csv", index=False)
    return tmp_path


def test_printed_tables_agree_with_themselves_and_any_other_number_is_found(results, capsys):
    path = results / "README.md"
    path.write_text("")
    assert readme.main([str(results), "--readme", str(path)]) == 1
    printed, problems = capsys.readouterr()
    assert "no table whose first column is called estimator" in problems
    assert "| `group` | +0.001 / 0.500 | +0.001 / 0.500 |" in printed
    assert "| estimator | load 0.5 (effect -0.138) | load 0.7 (effect -0.138) |" in printed
    assert "| offline optimum | 16.25 | - |" in printed
    assert "| online optimum (exact) | 16.25 | 4096 |" in printed
    path.write_text(f"# Title\n\n{printed}\nText.\n")
    assert readme.main([str(results), "--readme", str(path)]) == 0
    assert capsys.readouterr().err == ""
    changed = printed.replace("| `group` | +0.001 / 0.500", "| `group` | +0.002 / 0.500")
    path.write_text(changed.replace("| 4096 |\n| SSS", "|\n| SSS", 1))
    assert readme.main([str(results), "--readme", str(path)]) == 1
    problems = capsys.readouterr().err.splitlines()
    first = "`group`, load 0.5 (effect -0.138): says +0.002 / 0.500, the results +0.001 / 0.500"
    assert problems[0] == f"{path}: {first}"
    assert problems[1] == f"{path}: online optimum (exact): 1 numbers instead of 2"
    assert len(problems) == 2


def test_the_readme_has_the_rows_that_the_command_checks(results):
    """The made-up study has other numbers, and columns; rows must be the same."""
    found = {table[0][0]: table for table in readme.tables_of((ROOT / "README.md").read_text())}
    for rows in (
        readme.estimator_rows(pd.read_csv(results / "tables/mse.csv")),
        readme.regret_rows(pd.read_csv(results / "tables/regret.csv")),
    ):
        assert [row[0] for row in found[rows[0][0]]] == [row[0] for row in rows]
