rule loss_network:
    output:
        **{
            kind: f"results/loss/N{{servers}}/{kind}.parquet"
            for kind in PLAN.loss_paths
        },
    log:
        "results/logs/loss/N{servers}.log",
    benchmark:
        "results/benchmarks/loss/N{servers}.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        settings=PLAN.path_settings,
        seed=PLAN.study.seed,
        code=code_of("loss_paths"),
    script:
        "../workflow/scripts/loss_paths.py"


rule loss_trajectory:
    output:
        "results/traces/loss/N{servers}.arrow",
    log:
        "results/logs/loss/trajectory-N{servers}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=PLAN.path_settings,
        seed=PLAN.study.seed,
        code=code_of("loss_trajectory"),
    script:
        "../workflow/scripts/loss_trajectory.py"


rule loss_tables:
    input:
        **PLAN.loss_paths,
    output:
        **{
            key: shown_table(f"{file}.csv", title, "loss_tables")
            for key, (file, title) in LOSS_TABLES.items()
        },
        rows="results/loss/regret.parquet",
    log:
        "results/logs/loss/tables.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        settings=PLAN.loss_settings,
        code=code_of("loss_tables"),
    script:
        "../workflow/scripts/loss_tables.py"


rule loss_figures:
    input:
        regret="results/tables/regret.csv",
        decomposition="results/tables/regret_decomposition.csv",
        single_use="results/tables/single_use.csv",
        trace=f"results/traces/loss/N{PLAN.traced}.arrow",
    output:
        **{
            key: shown_figure(
                f"results/figures/loss_{key}.png", "Loss network", f"loss_{key}", title
            )
            for key, title in LOSS_FIGURES.items()
        },
        **{f"{key}_pdf": f"results/figures/loss_{key}.pdf" for key in LOSS_FIGURES},
    log:
        "results/logs/figures/loss_network.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        servers=PLAN.traced,
        code=code_of("loss_figures"),
    script:
        "../workflow/scripts/loss_figures.py"
