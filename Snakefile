from snakemake.utils import min_version

min_version("9.10")

# A study is one file. Snakemake would merge a file given on the command line into a default one, so
# the default is read only when there is no other.
if not config:

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/truth.smk"
include: "rules/experiments.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/loss_network.smk"
include: "rules/external.smk"
include: "rules/cluster.smk"


rule all:
    default_target: True
    input:
        PLAN.targets,


onstart:
    # On a cluster there are no local cores, but jobs at a time.
    parallel = (
        workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    )
    if said := take_over(PLAN.study, "results/study.yaml"):
        logger.warning(said)
    logger.info(describe_cost(PLAN.study, list(CELLS.values()), parallel))
