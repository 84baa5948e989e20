"""Studies that no one should run: each is refused with one sentence, quickly, and writes nothing."""

from pathlib import Path

import pytest
import yaml

from queuebench.cli import main
from tests.workflow_copy import Workflow

PLAIN = {
    "seed": 1,
    "replicates": 2,
    "system": {"servers": 4, "loads": [0.5]},
    "designs": {"bernoulli": {"kind": "bernoulli"}},
    "scenarios": {"plain": {}},
}
LOSS = {"servers": [16], "window_multipliers": [1.0]}


def override(**keys):
    return {"scenarios": {"plain": keys}}


def design(name):
    return override(designs={name: {"kind": "bernoulli"}})


def switchback(**keys):
    return {"designs": {"s": {"kind": "switchback", **keys}}}


def system(**keys):
    return {"system": {**PLAIN["system"], **keys}}


def loss(**keys):
    return {"loss_network": {**LOSS, **keys}}


def workload(**keys):
    return override(kind="replay", workload={"path": "a", "time": "t", "size": {"s": 1.0}, **keys})


NAME = "letters, digits and underscores"
SEXAGESIMAL = "base sixty"
MAPPINGS = [
    ("name with a slash", design("a/b"), NAME),
    ("name that climbs", design("../.."), NAME),
    ("name of dots", design(".."), NAME),
    ("name with braces", design("{cell}"), NAME),
    ("name with a space", design("a b"), NAME),
    ("empty name", design(""), NAME),
    ("name with a newline", design("a\nb"), NAME),
    ("name of 300 letters", design("a" * 300), NAME),
    ("design of the defaults that climbs", {"designs": {"../x": {"kind": "bernoulli"}}}, NAME),
    ("scenario that climbs", {"scenarios": {"../x": {}}}, NAME),
    ("scenario of 300 letters", {"scenarios": {"a" * 300: {}}}, NAME),
    ("scenario with a newline", {"scenarios": {"a\nb": {}}}, NAME),
    ("scenario of a strange kind", {"scenarios": {"a": {"kind": "x\ny"}}}, "must be simulated"),
    ("workload time true", workload(time=True), "valid string"),
    ("workload time null", workload(time=None), "valid string"),
    ("workload size true", workload(size={True: 1.0}), "valid string"),
    ("workload size null", workload(size={None: 1.0}), "valid string"),
    ("workload weight huge", workload(size={"s": 1e300}), "rounding decides"),
    ("load next to 0", system(loads=[1e-300]), "nothing is compared"),
    ("load 0.0", system(loads=[0.0]), "nothing is compared"),
    ("treated share 1e-9", system(treated_share=1e-9), "too few jobs of one arm"),
    ("few treated", {**system(treated_share=0.001), "arrivals": 1000, "horizon": 1.0}, "of one arm"),
    ("servers 1e9", system(servers=10**9), "100000"),
    ("speeds that overflow", {"speeds": {"kind": "two_speed", "ratio": 1e308}}, "rounding decides"),
    ("speeds that vanish", {"speeds": {"kind": "linear", "ratio": 1e-300}}, "rounding decides"),
    ("listed speeds", {"speeds": {"kind": "list", "values": [1e308] * 4}}, "rounding decides"),
    ("age 1e7", {"information": {"kind": "constant_age", "age": 1e7}}, "half of the record"),
    ("age 1e300", {"information": {"kind": "constant_age", "age": 1e300}}, "half of the record"),
    ("board 1e300", {"information": {"kind": "bulletin_board", "period": 1e300}}, "half of the rec"),
    ("board 1e-300", {"information": {"kind": "bulletin_board", "period": 1e-300}}, "use kind: fresh"),
    ("travel 1e7", {"travel_time": 1e7}, "kept in memory"),
    ("travel 1e300", {"travel_time": 1e300}, "kept in memory"),
    ("Erlang 1e9", {"service": {"distribution": "erlang", "stages": 10**9}}, "constant"),
    ("Pareto next to 1", {"service": {"distribution": "pareto", "shape": 1.0000001}}, "1.05"),
    ("scv 1e300", {"service": {"distribution": "hyperexponential", "scv": 1e300}}, "no record holds"),
    ("switchback next to 0", switchback(period=1e-9), "at least one is needed"),
    ("switchback 1e300", switchback(period=1e300), "no record is long enough"),
    ("burn-in just below", switchback(period=30.0, burn_in=29.9999), "at least one is needed"),
    ("cycle 1e-300", {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.4, "period": 1e-9}}, "period"),
    ("horizon 1e300", {"horizon": 1e300}, "no record is long enough"),
    ("arrivals 2", {"arrivals": 2}, "no spread"),
    ("arrivals 10", {"arrivals": 10}, "no spread"),
    ("arrivals 1e15", {"arrivals": 10**15}, "1000000000000"),
    ("arrivals 1e11", {"arrivals": 10**11}, "limits."),
    ("replicates 1e9", {"replicates": 10**9}, "limits.jobs"),
    ("batches of one", {"replicates": 10**6, "batch_size": 1}, "limits.jobs"),
    ("replicates of 400 digits", {"replicates": 10**400}, "less than or equal"),
    ("warm-up 1e300", {"warmup": 1e300}, "warmup"),
    ("warm-up 1e12", {"warmup": 1e12}, "limits.cpu_hours"),
    ("load next to 1", {**system(loads=[0.9999999]), "replicates": 10000}, "limits.cpu_hours"),
    ("truth that never ends", {"truth": {"max_arrivals": 10**12}}, "limits.cpu_hours"),
    ("truth too precise", {"truth": {"relative": 1e-300}}, "long enough"),
    ("exact states 1e12", {"truth": {"exact_states": 10**12}}, "fit into memory"),
    ("kept traces", {"arrivals": 10**6, "replicates": 3000, "keep_traces": True}, "limits.disk_gb"),
    ("loss N = 1e9", loss(servers=[10**9]), "more events than memory"),
    ("loss N = 1", loss(servers=[1]), "servers >= 2 must hold"),
    ("loss N = 1e7", loss(servers=[10**7]), "limits."),
    ("loss duration 1e300", loss(duration=1e300), "long enough"),
    ("loss duration 1e6", loss(duration=1e7), "long enough"),
    ("loss events 1e12", loss(events=10**12), "limits."),
    ("loss window 1e300", loss(window_multipliers=[1e300]), "long enough"),
    ("loss window 1e-300", loss(window_multipliers=[1e-300]), "long enough"),
    ("loss reward 1e300", loss(high={"rate": 0.7, "reward": 1e300}), "rounding decides"),
    ("loss replicates 1e9", loss(replicates=10**9), "limits.cpu_hours"),
    ("limits unknown", {"limits": {"hours": 3.0}}, "unknown key"),
    ("seed of 30 digits", {"seed": 10**30}, "seed: should be less"),
    ("yte", {"__use_yte__": True}, "a study is data"),
]  # fmt: skip

PLAIN_TEXT = yaml.safe_dump(PLAIN)
BOMB = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))
FILES = [
    ("Latin-1", "seed: 1 # \xe9".encode("latin-1"), "line 1 is not text in UTF-8"),
    ("UTF-16", PLAIN_TEXT.encode("utf-16"), "in UTF-16, or no text"),
    ("UTF-16 without its mark", PLAIN_TEXT.encode("utf-16-le"), "in UTF-16, or no text"),
    ("bytes", bytes(range(256)), "in UTF-16, or no text"),
    ("refers to itself", b"seed: 1\nscenarios: &s {a: *s}\n", "line 2: *s refers to itself"),
    ("deep", b"seed: " + b"[" * 5000 + b"]" * 5000, "nested more than"),
    ("deep mapping", b"seed: " + b"{a: " * 5000 + b"}" * 5000, "nested more than"),
    ("alias bomb", f"a0: &a0 lol\n{BOMB}\n".encode(), "stands for more than 200,000 values"),
    ("empty", b"", "is empty"),
    ("only a comment", b"# nothing\n", "is empty"),
    ("list", b"- 1\n", "must be a mapping"),
    ("text", b"seed\n", "must be a mapping"),
    ("sexagesimal", PLAIN_TEXT.encode() + b"travel_time: 1:30\n", SEXAGESIMAL),
    ("sexagesimal weight", b"seed: 1:30.5\n", SEXAGESIMAL),
    ("Python", b"seed: !!python/object/apply:os.getpid []\n", "is not accepted"),
    ("yte in full", b"__use_yte__: true\nseed: ?1 + 1\n", "a study is data"),
    ("number of 5000 digits", b"seed: " + b"9" * 5000, "too many digits"),
    ("huge file", b"#" * 5_000_000, "is larger than 4 MiB"),
    ("a key twice", PLAIN_TEXT.encode() + b"arrivals: 500\narrivals: 600\n", "is given twice"),
    ("two documents", b"seed: 1\n---\nseed: 2\n", "not valid YAML"),
    ("load as text", PLAIN_TEXT.encode() + b"travel_time: 5e-1\n", "reads as text; write 0.5"),
    ("whole as text", PLAIN_TEXT.encode() + b"arrivals: 1e3\n", "reads as text; write 1000"),
    ("quoted number", PLAIN_TEXT.encode() + b"arrivals: '1000'\n", "reads as text; write 1000"),
]  # fmt: skip
CASES = [(n, yaml.safe_dump(PLAIN | keys).encode(), said) for n, keys, said in MAPPINGS] + FILES


@pytest.mark.parametrize(("study", "said"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_hostile_study_is_refused_in_one_sentence(study, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_bytes(study)
    status = main(["check", "--configfile", "study.yaml"])
    printed = capsys.readouterr()
    assert status == 2
    assert said in printed.err
    assert len(printed.err.splitlines()) == 1
    assert len(printed.err) < 600
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_whole_floats_are_whole_numbers(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(PLAIN | {"seed": 7.0, "arrivals": 1000.0, "horizon": 5.0}))
    assert main(["check", "--configfile", str(path)]) == 0
    assert "CPU hours" in capsys.readouterr().out


def test_a_limit_can_be_raised(tmp_path):
    path = tmp_path / "study.yaml"
    keys = {"arrivals": 10**6, "replicates": 3000, "keep_traces": True}
    path.write_text(yaml.safe_dump(PLAIN | keys | {"limits": {"disk_gb": 1000.0}}))
    assert main(["check", "--configfile", str(path)]) == 0


@pytest.mark.parametrize("name", ["name that climbs", "replicates 1e9", "yte", "sexagesimal"])
def test_snakemake_refuses_it_too(name, tmp_path):
    study, said = next(case[1:] for case in CASES if case[0] == name)
    workflow = Workflow(tmp_path / "copy")
    (workflow.folder / "study.yaml").write_bytes(study)
    before = {path.name for path in tmp_path.rglob("*")}
    process = workflow.run()
    assert process.returncode != 0
    assert said in process.stderr
    assert "Traceback" not in process.stderr
    new = {path for path in tmp_path.rglob("*") if path.name not in before}
    assert not [path for path in new if ".snakemake" not in path.parts]
