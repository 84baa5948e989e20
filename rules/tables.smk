rule collect:
    input:
        estimates=PLAN.batch_files("estimates"),
        diagnostics=PLAN.batch_files("diagnostics"),
        truth=[f"results/truth/{cell}.parquet" for cell in CELLS],
        exact=[f"results/exact/{cell}.json" for cell in PLAN.exact],
    output:
        estimates="results/estimates.parquet",
        diagnostics="results/diagnostics.parquet",
        truth="results/truth.parquet",
    log:
        "results/logs/collect.log",
    conda:
        ENVIRONMENT
    resources:
        **FOR_TABLES,
    params:
        # Of all cells in their order, which is that of the rows: Snakemake takes inputs for a set.
        stamp=stamp(list(CELLS.values())),
        code=code_of("collect"),
    script:
        "../workflow/scripts/collect.py"


for table in PLAN.tables:

    rule:
        name:
            table.rule
        input:
            **PLAN.inputs(table),
        output:
            **table_outputs(table),
        log:
            f"results/logs/{table.rule}.log",
        conda:
            ENVIRONMENT
        resources:
            **FOR_TABLES,
        params:
            function=table.function,
            given=PLAN.given(table),
            plugins=PLAN.plugins,
            code=code_of("make_tables", table.function),
        script:
            "../workflow/scripts/make_tables.py"
