"""The places that are taken for the workflow's own are those that its rules write to."""

import re
from pathlib import Path

import pytest

from queuebench.pipeline.stale import _OURS

RULES = Path(__file__).parents[2] / "rules"
EXAMPLES = {
    "cell": "plain-load0.6",
    "design": "bernoulli",
    "batch": "0",
    "scenario": "plain",
    "servers": "16",
    "TRACED_SERVERS": "16",
    "figure": "violins",
    "key": "knee",
}


def places():
    for path in sorted(RULES.glob("*.smk")):
        for place in re.findall(r'"(results/[^"]+)"', path.read_text()):
            filled = place.replace("{{", "{").replace("}}", "}")
            name = "regret" if "tables/" in place else "violins"
            for kind in ("estimates", "diagnostics") if "{kind}" in filled else ("",):
                known = {**EXAMPLES, "name": name, "kind": kind}
                yield re.sub(r"\{(\w+)\}", lambda found, known=known: known[found[1]], filled)


@pytest.mark.parametrize("place", sorted(set(places()) - {"results/study.yaml"}))
def test_what_a_rule_writes_is_taken_for_the_workflows_own(place):
    assert _OURS.fullmatch(place)
