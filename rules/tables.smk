rule collect:
    input:
        estimates=batch_files("estimates"),
        diagnostics=batch_files("diagnostics"),
        truth=[f"results/truth/{cell}.parquet" for cell in CELLS],
        exact=[f"results/exact/{cell}.json" for cell in EXACT],
    output:
        estimates="results/estimates.parquet",
        diagnostics="results/diagnostics.parquet",
        truth="results/truth.parquet",
    log:
        "results/logs/collect.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        # Of all cells in their order, which is that of the rows: Snakemake takes inputs for a set.
        stamp=stamp(list(CELLS.values())),
        code=code_of("collect"),
    script:
        "../workflow/scripts/collect.py"


rule bias_decomposition:
    input:
        estimates="results/estimates.parquet",
        exact=[f"results/exact/{cell}.json" for cell in EXACT],
    output:
        report(
            "results/tables/bias_decomposition.csv",
            category="Tables",
            labels={"table": "Bias taken apart"},
            caption="../workflow/report/bias_decomposition.rst",
        ),
    log:
        "results/logs/bias_decomposition.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_of("bias_decomposition"),
    script:
        "../workflow/scripts/bias_decomposition.py"


rule coverage:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
        decomposition=["results/tables/bias_decomposition.csv"] if EXACT else [],
    output:
        report(
            "results/tables/coverage.csv",
            category="Tables",
            labels={"table": "Coverage of confidence intervals"},
            caption="../workflow/report/coverage.rst",
        ),
    log:
        "results/logs/coverage.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_of("coverage_table"),
    script:
        "../workflow/scripts/coverage_table.py"


rule mse_table:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
    output:
        csv=report(
            "results/tables/mse.csv",
            category="Tables",
            labels={"table": "Mean squared error"},
            caption="../workflow/report/mse.rst",
        ),
        md="results/tables/mse.md",
    log:
        "results/logs/mse_table.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        notes=NOTES,
        code=code_of("mse_table"),
    script:
        "../workflow/scripts/mse_table.py"


rule crossover_table:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
        decomposition=["results/tables/bias_decomposition.csv"] if EXACT else [],
    output:
        report(
            "results/tables/crossover.csv",
            category="Tables",
            labels={"table": "Lengths from which one estimator beats another"},
            caption="../workflow/report/crossover.rst",
        ),
    log:
        "results/logs/crossover_table.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        seed=STUDY.seed,
        code=code_of("crossover_table"),
    script:
        "../workflow/scripts/crossover_table.py"


rule winners:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
        decomposition=["results/tables/bias_decomposition.csv"] if EXACT else [],
    output:
        winners=report(
            "results/tables/winners.csv",
            category="Tables",
            labels={"table": "Who wins where"},
            caption="../workflow/report/winners.rst",
        ),
        sign=report(
            "results/tables/sign.csv",
            category="Tables",
            labels={"table": "Arrivals for the right sign"},
            caption="../workflow/report/sign.rst",
        ),
    log:
        "results/logs/winners.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        seed=STUDY.seed,
        structural=structural_estimators(),
        code=code_of("winners"),
    script:
        "../workflow/scripts/winners.py"


rule checks_table:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
        diagnostics="results/diagnostics.parquet",
    output:
        checks=report(
            "results/tables/checks.csv",
            category="Tables",
            labels={"table": "Checks of assumptions"},
            caption="../workflow/report/checks.rst",
        ),
        disagreement=report(
            "results/tables/disagreement.csv",
            category="Tables",
            labels={"table": "Disagreement of estimators"},
            caption="../workflow/report/disagreement.rst",
        ),
    log:
        "results/logs/checks_table.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        notes=NOTES,
        code=code_of("checks_table"),
    script:
        "../workflow/scripts/checks_table.py"


rule claims_table:
    input:
        **CLAIM_TABLES,
    output:
        csv=report(
            "results/tables/claims.csv",
            category="Tables",
            labels={"table": "Claims"},
            caption="../workflow/report/claims.rst",
        ),
        md="results/tables/claims.md",
    log:
        "results/logs/claims_table.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        families={cell.scenario: families(cell) for cell in CELLS.values()},
        code=code_of("claims_table"),
    script:
        "../workflow/scripts/claims_table.py"
