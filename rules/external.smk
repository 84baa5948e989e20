# Somebody's own experiment: the same estimators on its log.
rule external:
    input:
        log=lambda wildcards: PLAN.external[wildcards.scenario].log,
        config=lambda wildcards: PLAN.external[wildcards.scenario].config,
    output:
        report="results/external/{scenario}/report.txt",
        estimates="results/external/{scenario}/estimates.csv",
        findings="results/external/{scenario}/findings.csv",
    log:
        "results/logs/external/{scenario}.log",
    wildcard_constraints:
        scenario=any_of(PLAN.external),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lambda wildcards: external_code(
            PLAN.external[wildcards.scenario], script_path("external")
        ),
    script:
        "../workflow/scripts/external.py"
