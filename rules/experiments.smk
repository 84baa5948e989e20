rule simulate:
    input:
        lambda wildcards: PLAN.workload(wildcards.cell),
    output:
        trace="results/traces/{cell}/{design}/batch{batch}.arrow",
        carry="results/traces/{cell}/{design}/batch{batch}.carry.arrow",
    log:
        "results/logs/simulate/{cell}/{design}/batch{batch}.log",
    benchmark:
        "results/benchmarks/simulate/{cell}/{design}/batch{batch}.tsv"
    wildcard_constraints:
        cell=any_of(PLAN.kept),
        design=any_of(sorted(PLAN.designs)),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=job_memory(),
        runtime=lambda wildcards: job_minutes(of_batch(PLAN.arrivals, wildcards)),
    params:
        job=lambda wildcards: job_of(
            simulation_params,
            wildcards.cell,
            wildcards.design,
            script_path("simulate"),
        ),
        replicates=lambda wildcards: of_batch(PLAN.replicates, wildcards),
    script:
        "../workflow/scripts/simulate.py"


rule estimate:
    input:
        lambda wildcards: expand(
            "results/traces/{cell}/{design}/batch{batch}.arrow",
            cell=wildcards.cell,
            design=CELLS[wildcards.cell].designs,
            batch=wildcards.batch,
        ),
    output:
        estimates="results/estimates/{cell}/batch{batch}.parquet",
        diagnostics="results/diagnostics/{cell}/batch{batch}.parquet",
    log:
        "results/logs/estimate/{cell}/batch{batch}.log",
    benchmark:
        "results/benchmarks/estimate/{cell}/batch{batch}.tsv"
    wildcard_constraints:
        cell=any_of(PLAN.kept),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards: job_memory(of_batch(PLAN.arrivals, wildcards)),
        runtime=lambda wildcards: of_batch(PLAN.minutes, wildcards),
    params:
        job=lambda wildcards: job_of(
            estimation_params, wildcards.cell, script_path("estimate")
        ),
        designs=lambda wildcards: list(CELLS[wildcards.cell].designs),
    script:
        "../workflow/scripts/estimate.py"


# Where traces are not kept, a job simulates a replicate, estimates from its trace and removes it: so
# one trace is alive at a time, and no disk fills up between simulation and estimation.
rule simulate_and_estimate:
    input:
        lambda wildcards: PLAN.workload(wildcards.cell),
    output:
        estimates="results/estimates/{cell}/batch{batch}.parquet",
        diagnostics="results/diagnostics/{cell}/batch{batch}.parquet",
    log:
        "results/logs/simulate_and_estimate/{cell}/batch{batch}.log",
    benchmark:
        "results/benchmarks/simulate_and_estimate/{cell}/batch{batch}.tsv"
    wildcard_constraints:
        cell=any_of(PLAN.passing),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards: job_memory(CELLS[wildcards.cell].experiment.arrivals),
        runtime=lambda wildcards: of_batch(PLAN.minutes, wildcards),
    params:
        job=lambda wildcards: job_of(
            estimation_params, wildcards.cell, script_path("simulate_and_estimate")
        ),
        replicates=lambda wildcards: of_batch(PLAN.replicates, wildcards),
    script:
        "../workflow/scripts/simulate_and_estimate.py"
