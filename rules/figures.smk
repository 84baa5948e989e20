def shown_figure(name, scenario, title, caption):
    """Return the PNG of a scenario's figure, which the report shows."""
    path = f"results/figures/{name}-{scenario}.png"
    caption = f"../workflow/report/{caption}.rst"
    labels = {"scenario": scenario}
    return report(
        path, category="Figures", subcategory=title, labels=labels, caption=caption
    )


def figure_files(name, title):
    """Return the PNG and the PDF of a figure for every scenario."""
    shown = [shown_figure(name, scenario, title, name) for scenario in SCENARIOS]
    return shown + [f"results/figures/{name}-{scenario}.pdf" for scenario in SCENARIOS]


rule violins:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
    output:
        figure_files("violins", "Estimates"),
    log:
        "results/logs/figures/violins.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=fingerprint("queuebench.figures.violins"),
    script:
        "../workflow/scripts/violins.py"


rule bias_sd:
    input:
        "results/tables/mse.csv",
    output:
        figure_files("bias_sd", "Bias and standard deviation"),
    log:
        "results/logs/figures/bias_sd.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=fingerprint("queuebench.figures.bias_sd"),
    script:
        "../workflow/scripts/bias_sd.py"


rule mse_by_length:
    input:
        "results/tables/mse.csv",
    output:
        figure_files("mse_by_length", "Error by length of the experiment"),
    log:
        "results/logs/figures/mse_by_length.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=fingerprint("queuebench.figures.mse_by_length"),
    script:
        "../workflow/scripts/mse_by_length.py"


rule mse_heatmap:
    input:
        "results/tables/mse.csv",
    output:
        report(
            "results/figures/mse_heatmap.png",
            category="Figures",
            subcategory="Mean squared error",
            labels={"scenario": "all"},
            caption="../workflow/report/mse_heatmap.rst",
        ),
        "results/figures/mse_heatmap.pdf",
    log:
        "results/logs/figures/mse_heatmap.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        code=fingerprint("queuebench.figures.mse_heatmap"),
    script:
        "../workflow/scripts/mse_heatmap.py"
