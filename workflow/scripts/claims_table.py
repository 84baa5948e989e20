"""Judge the claims of the papers."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.claims.ab_tests import ab_test_evidence
from queuebench.results.claims.loss_network import loss_evidence
from queuebench.results.tables.claims import NOTES, claims_table, overall
from queuebench.results.tables.output import read_table, write_csv, write_markdown

say_failures(snakemake.log)
tables = {name: read_table(path) for name, path in snakemake.input.items()}
claims = ab_test_evidence(tables, snakemake.params.families) if "estimates" in tables else []
claims += loss_evidence(tables) if "regret" in tables else []
table = claims_table(claims)
write_csv(table, snakemake.output.csv)
write_markdown(
    overall(table), snakemake.output.md, "Claims of the papers, judged by this study", NOTES
)
