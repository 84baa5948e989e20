"""docs/architecture.md says what is so: its picture, its rooms, and the walk of a trace through them."""

import re
import sys
from pkgutil import resolve_name

import yaml

from queuebench.pipeline.checks import check_study
from queuebench.pipeline.jobs import simulation_params
from queuebench.pipeline.stages.batches import estimate_traces
from queuebench.pipeline.stages.collect import collect
from queuebench.pipeline.stages.simulate import simulate_trace
from queuebench.pipeline.stages.truth import simulate_truth, write_truth
from queuebench.pipeline.study_plan import StudyPlan
from queuebench.results.figures.make import draw_figures
from queuebench.results.tables.make import make_tables
from queuebench.study.cells import load_study
from tests.house.rooms import FLOORS, ROOT, picture, room_of

PAGE = (ROOT / "docs/architecture.md").read_text()
STEPS = re.findall(r"^\| `([\w.]+\.[\w.]+)` \|", PAGE.partition("A trace walked")[2], re.MULTILINE)
STUDY = {
    "seed": 1, "replicates": 2, "arrivals": 400, "warmup": 10.0, "horizon": 2.0, "keep_traces": True,
    "estimators": ["naive", "mixed_dq"], "system": {"servers": 4, "loads": [0.5]},
    "truth": {"relative": 1.0, "max_arrivals": 5000}, "scenarios": {"walked": {}},
}  # fmt: skip


def test_the_picture_is_that_of_the_imports():
    assert f"```mermaid\n{picture()}\n```" in PAGE


def test_every_room_is_described():
    described = re.findall(r"^\| `([a-z_/]+?)(?:/|\.py)` \|", PAGE, re.MULTILINE)
    rooms = {room.replace(".", "/") for floor in FLOORS for room in floor}
    assert set(described) == rooms


def walk(folder):
    """Take one cell from its file to a figure, by the functions that rules and scripts call."""
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
    study = load_study(folder / "study.yaml")
    plan = StudyPlan(study, check_study(study))
    (cell,) = plan.cells.values()
    simulation_params(cell, "bernoulli", ROOT / "workflow/scripts/simulate.py")
    simulate_trace(cell, "bernoulli", range(2), folder / "trace.arrow", folder / "log")
    rows = [folder / f"{name}.parquet" for name in ("rows", "diagnostics")]
    estimate_traces(cell, {"bernoulli": folder / "trace.arrow"}, rows, folder / "log")
    tables = {name: str(folder / f"{name}.parquet") for name in ("estimates", "truth")}
    collect(rows[:1], tables["estimates"])
    write_truth(cell, simulate_truth(cell), tables["truth"])
    shown = {one.rule: one for one in [*plan.tables, *plan.figures]}
    files = {name: str(folder / f"mse.{name}") for name in ("csv", "md")}
    make_tables(shown["mse_table"].function, tables, files, plan.given(shown["mse_table"]))
    figure = shown["bias_sd"]
    outputs = [str(folder / "one.png"), str(folder / "one.pdf")]
    draw_figures(figure.function, [files["csv"]], outputs, ["walked"], True, {}, plan.order)
    return outputs


def test_a_trace_walks_as_the_page_says(tmp_path):
    codes = {resolve_name(f"queuebench.{step}").__code__: step for step in STEPS}
    assert len(codes) == len(STEPS) > 15
    called = []

    def note(frame, event, argument):
        # Some are called before too: the checks of a study set its cells up.
        if event == "call" and codes.get(frame.f_code) == next(iter(STEPS[len(called) :]), ""):
            called.append(codes[frame.f_code])

    sys.setprofile(note)
    try:
        outputs = walk(tmp_path)
    finally:
        sys.setprofile(None)
    assert called == STEPS
    assert all((tmp_path / path).stat().st_size > 0 for path in outputs)


def test_a_cell_enters_no_room_twice_on_its_way_to_its_trace():
    first, last = (
        STEPS.index("pipeline.stages.simulate.simulate_trace"),
        STEPS.index("trace.TraceWriter.write"),
    )
    rooms = [room_of(f"queuebench.{step}") for step in STEPS[first : last + 1]]
    entered = [room for k, room in enumerate(rooms) if k == 0 or room != rooms[k - 1]]
    assert entered == ["pipeline.stages", "queueing", "trace"]
