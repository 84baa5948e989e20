# All rules. They are included from here because Snakemake includes nothing from a Snakefile that lies at the
# top of a repository on a git host, where workflow/Snakefile has to do.
include: "common.smk"
include: "truth.smk"
include: "experiments.smk"
include: "tables.smk"
include: "figures.smk"
include: "cluster.smk"
