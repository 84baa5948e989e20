LOSS_TABLES = {
    "regret": ("regret", "Regret of every policy and window"),
    "decomposition": ("regret_decomposition", "Decomposition of regret"),
    "errors": ("admission_errors", "Admission errors"),
    "epochs": ("epochs", "Epochs"),
    "single_use": ("single_use", "Single-use resources"),
}
LOSS_FIGURES = {
    "regret": "Regret against the number of servers",
    "decomposition": "Decomposition of regret",
    "knee": "How short a lookahead suffices",
    "trajectory": "A sample path",
}


rule loss_network:
    output:
        **{kind: f"results/loss/N{{servers}}/{kind}.parquet" for kind in LOSS_KINDS},
    log:
        "results/logs/loss/N{servers}.log",
    benchmark:
        "results/benchmarks/loss/N{servers}.tsv"
    wildcard_constraints:
        servers=r"\d+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        settings=LOSS_PATH_SETTINGS,
        seed=STUDY.seed,
        code=code_of("loss_paths"),
    script:
        "../workflow/scripts/loss_paths.py"


rule loss_trajectory:
    output:
        "results/traces/loss/N{servers}.arrow",
    log:
        "results/logs/loss/trajectory-N{servers}.log",
    wildcard_constraints:
        servers=r"\d+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=LOSS_PATH_SETTINGS,
        seed=STUDY.seed,
        code=code_of("loss_trajectory"),
    script:
        "../workflow/scripts/loss_trajectory.py"


rule loss_tables:
    input:
        **{
            kind: [
                f"results/loss/N{servers}/{kind}.parquet" for servers in LOSS_SERVERS
            ]
            for kind in LOSS_KINDS
        },
    output:
        **{key: loss_table(*LOSS_TABLES[key]) for key in LOSS_TABLES},
        rows="results/loss/regret.parquet",
    log:
        "results/logs/loss/tables.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        settings=LOSS_SETTINGS,
        code=code_of("loss_tables"),
    script:
        "../workflow/scripts/loss_tables.py"


rule loss_figures:
    input:
        regret="results/tables/regret.csv",
        decomposition="results/tables/regret_decomposition.csv",
        single_use="results/tables/single_use.csv",
        trace=f"results/traces/loss/N{TRACED_SERVERS}.arrow",
    output:
        **{key: loss_figure(key, LOSS_FIGURES[key]) for key in LOSS_FIGURES},
        **{f"{key}_pdf": f"results/figures/loss_{key}.pdf" for key in LOSS_FIGURES},
    log:
        "results/logs/figures/loss_network.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        servers=TRACED_SERVERS,
        code=code_of("loss_figures"),
    script:
        "../workflow/scripts/loss_figures.py"
