"""Every table and figure of the experiments, described once: rules, targets and the report read it here.

What is tabulated or drawn is a function of a module that only the job which calls it imports: whoever reads
this list need not load a plotting library. A plug-in adds to the list with `add`.
"""

from dataclasses import dataclass

from queuebench.base.outside import is_outside


class Shown:
    """What tables and figures have in common."""

    def caption(self, name):
        """Return the name of a caption for the report, None for what comes from outside: it has none."""
        return None if is_outside(self.function) else name


@dataclass(frozen=True)
class Table(Shown):
    """Tables that are made together.

    Attributes
    ----------
    name : str
        Of the rule.
    function : str
        ``module:function``; called by name with a data frame per input (of JSON files, with a list) and with
        what is `given`, it returns per file a data frame or a `queuebench.results.tables.output.Markdown`;
        for a single file, that data frame.
    inputs : tuple of str
        Names of `queuebench.pipeline.study_plan.StudyPlan.sources`; those the study lacks are left out.
    files : dict of str to tuple (str, str)
        By what the function calls them: the name under ``results/tables``, and the title in the report, empty
        where it is not shown there.
    given : tuple of str
        Names of `queuebench.pipeline.study_plan.StudyPlan.given`.
    of : str
        The choice of scenarios without which there is no such table.
    """

    name: str
    function: str
    inputs: tuple[str, ...]
    files: dict[str, tuple[str, str]]
    given: tuple[str, ...] = ()
    of: str = "all"

    @property
    def rule(self):
        """Name of the rule."""
        return self.name

    @property
    def paths(self):
        """The path of each file."""
        return {key: f"results/tables/{file}" for key, (file, _) in self.files.items()}


@dataclass(frozen=True)
class Figure(Shown):
    """A figure, or one for each of some scenarios.

    Attributes
    ----------
    name : str
        Of its files and its caption in ``workflow/report``.
    title : str
        Under which the report shows it.
    function : str
        ``module:function``; called with a data frame per input, the rows of its scenarios alone, and where
        `each` with one of them, it returns a Matplotlib figure. Empty for ``draw_`` and the name, in a module
        of that name beside the others.
    inputs : tuple of str
        As of `Table`.
    of : str
        The choice of scenarios it is for, see `queuebench.pipeline.study_plan.StudyPlan.scenarios`; where the
        study has none there is no such figure.
    each : bool
        Whether there is one for each of these scenarios.
    label : str
        What the report calls a figure of several scenarios together.
    beside : bool
        Whether it is drawn from the table of its name, whose rule has that name already.
    given : tuple of str
        As of `Table`.
    """

    name: str
    title: str
    function: str = ""
    inputs: tuple[str, ...] = ("mse",)
    of: str = "all"
    each: bool = False
    label: str = "all"
    beside: bool = False
    given: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.function:
            usual = f"queuebench.results.figures.{self.name}:draw_{self.name}"
            object.__setattr__(self, "function", usual)

    @property
    def rule(self):
        """Name of the rule."""
        return f"{self.name}_figure" if self.beside else self.name

    def paths(self, scenarios):
        """Return the PNGs, then the PDFs, of a study with these scenarios of its choice."""
        stems = [f"{self.name}-{scenario}" for scenario in scenarios] if self.each else [self.name]
        return [f"results/figures/{stem}.{kind}" for kind in ("png", "pdf") for stem in stems]


_TABLES = "queuebench.results.tables"
_EXPERIMENTS = ("estimates", "truth")

CATALOGUE = [
    Table(
        "bias_decomposition",
        f"{_TABLES}.bias_decomposition:bias_decomposition",
        ("estimates", "solved"),
        {"table": ("bias_decomposition.csv", "Bias taken apart")},
        given=("exact",),
        of="exact",
    ),
    Table(
        "coverage",
        f"{_TABLES}.coverage:coverage_table",
        (*_EXPERIMENTS, "decomposition"),
        {"table": ("coverage.csv", "Coverage of confidence intervals")},
    ),
    Table(
        "mse_table",
        f"{_TABLES}.mse:mse_files",
        _EXPERIMENTS,
        {"csv": ("mse.csv", "Mean squared error"), "md": ("mse.md", "")},
        given=("notes",),
    ),
    Table(
        "crossover_table",
        f"{_TABLES}.crossover:crossover_table",
        (*_EXPERIMENTS, "decomposition"),
        {"table": ("crossover.csv", "Lengths from which one estimator beats another")},
        given=("seed",),
    ),
    Table(
        "winners",
        f"{_TABLES}.winners:winners_files",
        (*_EXPERIMENTS, "decomposition"),
        {
            "winners": ("winners.csv", "Who wins where"),
            "sign": ("sign.csv", "Arrivals for the right sign"),
        },
        given=("seed", "structural"),
    ),
    Table(
        "checks_table",
        f"{_TABLES}.checks:checks_files",
        (*_EXPERIMENTS, "diagnostics"),
        {
            "checks": ("checks.csv", "Checks of assumptions"),
            "disagreement": ("disagreement.csv", "Disagreement of estimators"),
        },
        given=("notes",),
    ),
    Table(
        "claims_table",
        f"{_TABLES}.claims:claims_files",
        (*_EXPERIMENTS, "diagnostics", "regret", "regret_decomposition", "single_use"),
        {"csv": ("claims.csv", "Claims"), "md": ("claims.md", "")},
        given=("families", "roles"),
        of="any",
    ),
    Figure("violins", "Estimates", inputs=_EXPERIMENTS, each=True),
    Figure("bias_sd", "Bias and standard deviation", each=True),
    Figure("mse_by_length", "Error by length of the experiment", each=True),
    Figure("mse_heatmap", "Mean squared error"),
    Figure("truncation", "Truncation horizon", of="many_horizons", each=True),
    Figure("delay", "Delayed information", of="delayed", label="all delayed", given=("roles",)),
    Figure(
        "bias_decomposition",
        "Bias taken apart",
        inputs=("decomposition",),
        of="exact",
        label="all exact",
        beside=True,
    ),
    Figure("coverage", "Coverage", inputs=("coverage",), beside=True),
    Figure("winners", "Who wins where", inputs=("winners",), beside=True),
    Figure(
        "share_curve",
        "Response by treated share",
        inputs=("diagnostics", "truth", "mse"),
        of="of_shares",
        each=True,
        given=("roles",),
    ),
]


def add(*shown):
    """Add tables or figures to the catalogue.

    Raises
    ------
    ValueError
        If a rule of that name is there already.
    """
    for one in shown:
        if one.rule in {other.rule for other in CATALOGUE}:
            raise ValueError(f"a table or figure named {one.rule} is in the catalogue already")
        CATALOGUE.append(one)
