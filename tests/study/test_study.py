import pytest

from queuebench.base.errors import StudyError
from queuebench.pipeline.checks import check_cell, check_loss_network
from queuebench.study.cells import Cell, load_study, parse_study, resolve

BASE = {
    "seed": 1,
    "scenarios": {"plain": {}},
    "designs": {
        "bernoulli": {"kind": "bernoulli"},
        "group": {"kind": "group"},
        "switchback": {"kind": "switchback", "period": 30.0},
    },
}
ONLY_BERNOULLI = {"bernoulli": {"kind": "bernoulli"}}


def check(keys):
    study = parse_study({**BASE, **keys})
    check_loss_network(study)
    for cell in resolve(study):
        check_cell(cell)


WRONG = [
    ({"assumed": None}, "assumed: must be a mapping of keys, got null$"),
    ({"control": "random"}, 'control: must be a mapping of keys, got "random"$'),
    ({"designs": [1]}, r"designs: must be a mapping of keys, got \[1\]$"),
    ({"scenarios": {"a": {"system": 3}}}, r"scenarios\.a\.system: must be a mapping of keys, got 3$"),
    ({"information": "fresh"}, r'information: must be a mapping of keys like \{kind: fresh\}, got "fresh"$'),
    ({"designs": {"s": "swichback"}}, r'designs\.s: must be a mapping of keys like \{kind: switchback\}, got'),
    ({"service": 3}, r"service: must be a mapping of keys like \{distribution: exponential\}, got 3$"),
    ({"replicats": 3}, r"replicats: unknown key, did you mean replicates\?"),
    ({"replicates": 0}, "replicates: should be greater than or equal to 1, got 0"),
    ({"arrivals": "many"}, 'arrivals: should be a valid integer, got "many"'),
    ({"system": {"loads": [0.5, 1.2]}}, r"system\.loads\.1: should be less than 1, got 1.2"),
    ({"system": {"loads": [0.0]}}, r"system\.loads\.0: should be greater than or equal to 0\.0001 \(below it"),
    ({"system": {"laods": [0.5]}}, r"system\.laods: unknown key, did you mean loads\?"),
    ({"designs": {"s": {"kind": "switchback", "period": -1.0}}}, r"designs\.s\.period: should be greater than 0"),
    (
        {"system": {"servers": 8}, "assumed": {"speeds": {"kind": "list", "values": [1.0]}}},
        r"assumed\.speeds\.values: ",
    ),
    (
        {"horizons": [3.0, 3.01]},
        r"horizons: 3 and 3\.01 mean service times are both 30 arrivals; leave one out",
    ),
    (
        {"scenarios": {"mine": {"kind": "external", "config": "c.yaml"}}},
        r"scenarios\.mine\.log: this key is required",
    ),
    ({"designs": {"s": {}}}, r"designs\.s\.kind: this key is required, one of 'bernoulli', 'group'"),
    ({"designs": {"s": {"kind": "swithcback"}}}, r"designs\.s\.kind: must be one of 'bernoulli', 'group'"),
    ({"designs": {"s": {"kind": "switchback", "perod": 3.0}}}, r"designs\.s\.perod: unknown key, did you mean period"),
    ({"designs": {"s": {"kind": "switchback", "period": 3.0, "burn_in": 3.0}}}, "burn_in must be shorter"),
    ({"designs": {"s": {"kind": "switchback", "period": 3000.0}}}, r"designs\.s\.period: the record of about"),
    ({"designs": {"bernoulli": None}}, "at least one design"),
    ({"scenarios": {"a": {"horizn": 3}}}, r"scenarios\.a\.horizn: unknown key, did you mean horizon"),
    ({"scenarios": {"a": {"seed": 3}}}, r"scenarios\.a\.seed: unknown key"),
    ({"scenarios": {"a/b": {}}}, "letters, digits and underscores"),
    ({"scenarios": {}}, "scenarios: at least one"),
    ({"control": {"policy": "power_of_d", "d": 11}}, r"control\.d: must be a whole number from 1 to 10 \(half"),
    ({"control": {"policy": "power_of_d", "d": 21}, "designs": ONLY_BERNOULLI}, r"from 1 to 20"),
    ({"control": {"policy": "power_of_d", "d": 2.5}}, r"control\.d: must be a whole number"),
    ({"control": {"policy": "power_of_d"}}, r"control\.d: power_of_d needs this key"),
    ({"control": {"policy": "round_robin", "d": 2}}, r"control\.d: unknown key, round_robin takes no"),
    ({"treatment": {"policy": "power_off_d", "d": 2}}, r"did you mean power_of_d\?.*known are"),
    ({"estimators": ["wdqq"]}, r"did you mean wdq\?.*known are .*naive"),
    ({"estimators": ["group"], "designs": ONLY_BERNOULLI}, "none of those given applies"),
    ({"system": {"servers": 21}}, r"designs\.group: a group design needs an even number of servers, not 21"),
    ({"horizon": 2000.0}, "more than half of the 40000 recorded"),
    ({"horizons": []}, "horizons: .*at least 1 item"),
    ({"warmup": -1.0}, "warmup: should be 'auto', or should be greater than or equal to 0"),
    ({"speeds": {"kind": "two_speed", "ratio": 4.0}, "system": {"loads": [0.85]}}, r"unstable: the 10 slowest servers receive at least 4.026"),
    ({"speeds": {"kind": "two_speed", "ratio": 4.0}, "system": {"loads": [0.6]}, "control": {"policy": "round_robin"}}, "unstable: the slowest server receives at least 0.6 .* and serves only 0.4"),
    ({"speeds": {"kind": "list", "values": [1.0, 2.0]}}, r"speeds\.values: there are 2 speeds for 20"),
    ({"speeds": {"kind": "linear", "ratio": 3.0}, "system": {"loads": [0.6]}, "treatment": {"policy": "join_idle_queue"}, "designs": ONLY_BERNOULLI}, "not known to be stable"),
    ({"service": {"distribution": "pareto", "shape": 1.0}}, r"service\.shape: should be greater than"),
    ({"service": {"distribution": "pareto", "shape": 1.5}, "control": {"policy": "power_of_d", "d": 1}}, r"service\.shape: at 1.5 .*infinite"),
    ({"service": {"distribution": "gamma"}}, r"service\.distribution: must be one of"),
    ({"arrival_process": {"kind": "sinusoidal", "amplitude": 1.0, "period": 9.0}}, r"amplitude: should be less than 1"),
    ({"arrival_process": {"kind": "sinusoidal", "amplitude": -0.1, "period": 9.0}}, r"amplitude: should be greater than or equal to 0"),
    ({"arrival_process": {"kind": "sinusoidal", "amplitude": 0.3, "period": 1e5}}, "less than half a period"),
    ({"information": {"kind": "constant_age", "age": -1.0}}, r"information\.age: should be greater"),
    ({"travel_time": -1.0}, "travel_time: should be greater"),
    ({"truth": {"relative": 0.0}}, r"truth\.relative: should be greater than or equal to"),
    ({"loss_network": {"servers": [0]}}, r"loss_network\.servers\.0: should be greater than or equal to 1"),
    ({"loss_network": {"window_multipliers": [1.0, -1.0]}}, r"window_multipliers\.1: should be greater than or equal to"),
    ({"loss_network": {"high": {"rate": 1.2, "reward": 2.0}}}, r"loss_network: high_rate < service_rate must hold"),
    ({"loss_network": {"high": {"rate": 0.3, "reward": 2.0}}}, r"loss_network: service_rate < high_rate \+ low_rate must hold \(overload\)"),
    ({"loss_network": {"high": {"rate": 0.7, "reward": 0.5}}}, r"loss_network: low_reward < high_reward must hold"),
    ({"loss_network": {"low": {"rate": 0.0, "reward": 0.5}}}, r"loss_network\.low\.rate: should be greater than or equal to"),
    ({"loss_network": {"rate": 1.0}}, r"loss_network\.rate: unknown key"),
    ({"seed": -1}, "seed: should be greater than or equal to 0"),
    ({"replicates": True}, "replicates: should be a valid integer"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message"), WRONG)
def test_a_wrong_study_is_refused_with_its_key(keys, message):
    with pytest.raises(StudyError, match=message) as refusal:
        check(keys)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"speeds": {"kind": "two_speed", "ratio": 4.0}, "system": {"loads": [0.84]}},
        {"system": {"servers": 1}, "control": {"policy": "power_of_d", "d": 1}, "treatment": {"policy": "power_of_d", "d": 1}, "designs": ONLY_BERNOULLI},
        {"service": {"distribution": "pareto", "shape": 1.5}},
        {"estimators": ["naive", "qdq"]},
    ],
)  # fmt: skip
def test_right_studies_are_accepted(keys):
    check(keys)


def test_half_of_a_group_design_may_be_unstable_alone():
    """One half can have the fast server: it gets 60 % of the jobs, half of them to a slow one."""
    keys = {
        "speeds": {"kind": "list", "values": [1.0, 1.0, 1.0, 2.0]},
        "system": {"servers": 4, "loads": [0.7]},
        "control": {"policy": "round_robin"},
        "treatment": {"policy": "round_robin"},
    }
    check({**keys, "designs": ONLY_BERNOULLI})
    with pytest.raises(StudyError, match="unstable in half of a group design: the slowest server"):
        check(keys)


def test_overrides_merge_key_by_key_but_policies_are_replaced_whole():
    study = parse_study(
        {
            **BASE,
            "control": {"policy": "power_of_d", "d": 2},
            "system": {"servers": 10, "loads": [0.5]},
            "scenarios": {
                "one": {"system": {"loads": [0.6, 0.75]}, "designs": {"group": None}},
                "two": {
                    "control": {"policy": "round_robin"},
                    "designs": {"switchback": {"period": 9.0}},
                },
            },
        }
    )
    one, _, two = resolve(study)
    assert one.experiment.system.servers == 10
    assert one.name == "one-load0.6"
    assert set(one.designs) == {"bernoulli", "switchback"}
    assert two.experiment.control.parameters == {}
    assert two.designs["switchback"].period == 9.0


def test_a_cell_survives_the_way_to_a_job():
    for cell in resolve(parse_study({**BASE, "speeds": {"kind": "linear", "ratio": 2.0}})):
        again = Cell.from_dict(cell.to_dict())
        assert again.name == cell.name
        assert again.rate == cell.rate
        assert again.designs == cell.designs
        assert again.experiment.speeds == cell.experiment.speeds


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(StudyError, match=r"missing\.yaml: cannot be read"):
        load_study(tmp_path / "missing.yaml")
    (tmp_path / "broken.yaml").write_text("seed: 1\nscenarios: [}\n")
    with pytest.raises(StudyError, match=r"broken\.yaml: line 2 is not valid YAML"):
        load_study(tmp_path / "broken.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(StudyError, match="must be a mapping"):
        load_study(tmp_path / "list.yaml")


@pytest.mark.parametrize(
    ("keys", "main"),
    [
        ({}, 30.0),
        ({"horizon": 7.0}, 7.0),
        ({"horizon": 10.0, "horizons": [10.0, 30.0]}, 10.0),
        ({"horizons": [10.0, 30.0]}, 30.0),
        ({"horizon": 12.0, "horizons": [1.0, 10.0, 100.0]}, 10.0),
        ({"horizon": 20.0, "horizons": [30.0, 10.0]}, 10.0),
    ],
)
def test_the_main_horizon_is_the_studys_or_the_nearest_to_it(make_cell, keys, main):
    assert make_cell(**keys).experiment.main_horizon == main


def test_whole_numbers_with_a_point_are_whole_for_policies_too():
    control = {"policy": "power_of_d", "d": 2.0}
    (cell,) = resolve(parse_study({"seed": 1, "system": {"loads": [0.5]}, "control": control,
                                   "scenarios": {"one": {}}}))  # fmt: skip
    assert repr(cell.experiment.control.parameters) == "{'d': 2}"
