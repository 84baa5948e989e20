# The whole workflow. It is included from here because Snakemake cannot include anything from a Snakefile
# that lies at the top of a repository it reads from a git host.
include: "common.smk"
include: "truth.smk"
include: "experiments.smk"
include: "tables.smk"
include: "figures.smk"
include: "cluster.smk"


rule all:
    default_target: True
    input:
        STUDY_TARGETS,
