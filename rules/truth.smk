rule truth:
    input:
        lambda wildcards: PLAN.workload(wildcards.cell),
    output:
        "results/truth/{cell}.parquet",
    log:
        "results/logs/truth/{cell}.log",
    benchmark:
        "results/benchmarks/truth/{cell}.tsv"
    wildcard_constraints:
        cell=any_of(CELLS),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=job_memory(),
        runtime=lambda wildcards: job_minutes(
            CELLS[wildcards.cell].experiment.truth.max_arrivals
        ),
    params:
        job=lambda wildcards: truth_params(CELLS[wildcards.cell], script_path("truth")),
    script:
        "../workflow/scripts/truth.py"


# Long for high loads, and nothing else can go on without it: first in the queue.
rule exact:
    output:
        "results/exact/{cell}.json",
    log:
        "results/logs/exact/{cell}.log",
    benchmark:
        "results/benchmarks/exact/{cell}.tsv"
    wildcard_constraints:
        cell=any_of(PLAN.exact),
    priority: 10
    conda:
        ENVIRONMENT
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        job=lambda wildcards: exact_params(
            CELLS[wildcards.cell], PLAN.exact[wildcards.cell], script_path("exact")
        ),
    script:
        "../workflow/scripts/exact.py"
