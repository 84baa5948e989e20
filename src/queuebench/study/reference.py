"""The table of a study's keys for `config/README.md`, from the models themselves."""

from queuebench.study.settings import (  # fmt: skip
    Experiment,
    ExternalLog,
    JobClass,
    Limits,
    LossNetworkStudy,
    Study,
    Truth,
)
from queuebench.study.system import (  # fmt: skip
    BulletinBoard,
    ConstantAge,
    Erlang,
    Hyperexponential,
    LinearSpeeds,
    ListedSpeeds,
    Pareto,
    Policy,
    Sinusoidal,
    Switchback,
    System,
    TwoSpeed,
    WorkloadFile,
)

_SECTIONS = {
    "Top level only": (Study, set(Experiment.model_fields)),
    "Top level and every scenario": (Experiment, set()),
    "`system`": (System, set()),
    "`control` and `treatment`": (Policy, set()),
    "a design of kind `switchback`": (Switchback, {"kind"}),
    "`truth`": (Truth, set()),
    "`speeds` of kind `two_speed`": (TwoSpeed, {"kind"}),
    "`speeds` of kind `linear`": (LinearSpeeds, {"kind"}),
    "`speeds` of kind `list`": (ListedSpeeds, {"kind"}),
    "`arrival_process` of kind `sinusoidal`": (Sinusoidal, {"kind"}),
    "`information` of kind `constant_age`": (ConstantAge, {"kind"}),
    "`information` of kind `bulletin_board`": (BulletinBoard, {"kind"}),
    "`service` with distribution `pareto`": (Pareto, {"distribution"}),
    "`service` with distribution `erlang`": (Erlang, {"distribution"}),
    "`service` with distribution `hyperexponential`": (Hyperexponential, {"distribution"}),
    "`workload` of a scenario of kind `replay`": (WorkloadFile, set()),
    "a scenario of kind `external`": (ExternalLog, {"kind"}),
    "`limits`": (Limits, set()),
    "`loss_network`": (LossNetworkStudy, set()),
    "`loss_network.high` and `.low`": (JobClass, set()),
}


def study_reference():
    """Return the keys of a study as Markdown tables: key, default, description."""
    parts = []
    for title, (model, left_out) in _SECTIONS.items():
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
