"""The places that are taken for the workflow's own are those that its rules write to."""

import re
from pathlib import Path

import pytest

from queuebench.pipeline.stale import is_ours
from queuebench.pipeline.study_plan import StudyPlan
from queuebench.study.cells import load_study, resolve

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "cell": "plain-load0.6",
    "design": "bernoulli",
    "batch": "0",
    "scenario": "plain",
    "servers": "16",
    "PLAN.traced": "16",
    "figure.name": "violins",
    "table.rule": "mse_table",
    "key": "knee",
    "kind": "regret",
}


def places():
    """Yield what rules say they write, but for tables and figures, which the plan knows."""
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for place in re.findall(r'"(results/[^"]+)"', path.read_text()):
            filled = place.replace("{{", "{").replace("}}", "}")
            known = EXAMPLES | {"file": "regret" if "{file}.csv" in filled else "mse.csv"}
            yield re.sub(r"\{([\w.]+)\}", lambda found, known=known: known[found[1]], filled)


def targets():
    study = load_study(ROOT / "config/config.yaml")
    plan = StudyPlan(study, resolve(study))
    return [*plan.targets, *plan.batch_files("estimates"), *plan.batch_files("diagnostics")]


@pytest.mark.parametrize("place", sorted({*places(), *targets()} - {"results/study.yaml"}))
def test_what_a_rule_writes_is_taken_for_the_workflows_own(place):
    assert is_ours(place)
