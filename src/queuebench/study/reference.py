"""The table of a study's keys for `config/README.md`, from the models themselves."""

from typing import get_args

from queuebench.study.settings import (  # fmt: skip
    Experiment,
    ExternalLog,
    JobClass,
    Limits,
    LossNetworkStudy,
    Study,
    Truth,
)
from queuebench.study.system import Policy, Shares, Switchback, System, WorkloadFile


def _alternatives():
    """Yield the sections of what a key of the study may be that has settings, from plug-ins too."""
    for key in ("speeds", "arrival_process", "information", "service"):
        field = Experiment.model_fields[key]
        word = field.discriminator
        for model in get_args(field.annotation):
            name = model.model_fields[word].default
            if len(model.model_fields) > 1:
                of = "of kind" if word == "kind" else f"with {word}"
                yield f"`{key}` {of} `{name}`", (model, {word})


def _sections():
    """Return for each section's title its model, and the fields that are left out."""
    return {
        "Top level only": (Study, set(Experiment.model_fields)),
        "Top level and every scenario": (Experiment, set()),
        "`system`": (System, set()),
        "`control` and `treatment`": (Policy, set()),
        "a design of kind `switchback`": (Switchback, {"kind"}),
        "a design of kind `shares`": (Shares, {"kind"}),
        "`truth`": (Truth, set()),
        **dict(_alternatives()),
        "`workload` of a scenario of kind `replay`": (WorkloadFile, set()),
        "a scenario of kind `external`": (ExternalLog, {"kind"}),
        "`limits`": (Limits, set()),
        "`loss_network`": (LossNetworkStudy, set()),
        "`loss_network.high` and `.low`": (JobClass, set()),
    }


def study_reference():
    """Return the keys of a study as Markdown tables: key, default, description."""
    parts = []
    for title, (model, left_out) in _sections().items():
        rows = [
            f"| `{name}` | {_default(field)} | {field.description} |"
            for name, field in model.model_fields.items()
            if name not in left_out
        ]
        parts.append(
            "\n".join([f"### {title}", "", "| key | default | what |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


def _default(field):
    if field.is_required():
        return "required"
    value = field.default
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        value = {k: v.model_dump() if hasattr(v, "model_dump") else v for k, v in value.items()}
    text = str(value).replace("'", "").replace("None", "none")
    return f"`{text}`"
