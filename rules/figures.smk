rule violins:
    input:
        estimates="results/estimates.parquet",
        truth="results/truth.parquet",
    output:
        figure_files("violins", "Estimates", SCENARIOS),
    log:
        "results/logs/figures/violins.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=code_of("violins"),
    script:
        "../workflow/scripts/violins.py"


rule bias_sd:
    input:
        "results/tables/mse.csv",
    output:
        figure_files("bias_sd", "Bias and standard deviation", SCENARIOS),
    log:
        "results/logs/figures/bias_sd.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=code_of("bias_sd"),
    script:
        "../workflow/scripts/bias_sd.py"


rule mse_by_length:
    input:
        "results/tables/mse.csv",
    output:
        figure_files("mse_by_length", "Error by length of the experiment", SCENARIOS),
    log:
        "results/logs/figures/mse_by_length.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=SCENARIOS,
        code=code_of("mse_by_length"),
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
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        code=code_of("mse_heatmap"),
    script:
        "../workflow/scripts/mse_heatmap.py"


rule truncation:
    input:
        "results/tables/mse.csv",
    output:
        figure_files("truncation", "Truncation horizon", TRUNCATED),
    log:
        "results/logs/figures/truncation.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=TRUNCATED,
        code=code_of("truncation"),
    script:
        "../workflow/scripts/truncation.py"


rule delay:
    input:
        "results/tables/mse.csv",
    output:
        report(
            "results/figures/delay.png",
            category="Figures",
            subcategory="Delayed information",
            labels={"scenario": "all delayed"},
            caption="../workflow/report/delay.rst",
        ),
        "results/figures/delay.pdf",
    log:
        "results/logs/figures/delay.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        scenarios=DELAYED,
        code=code_of("delay"),
    script:
        "../workflow/scripts/delay.py"


rule bias_decomposition_figure:
    input:
        "results/tables/bias_decomposition.csv",
    output:
        report(
            "results/figures/bias_decomposition.png",
            category="Figures",
            subcategory="Bias taken apart",
            labels={"scenario": "all exact"},
            caption="../workflow/report/bias_decomposition.rst",
        ),
        "results/figures/bias_decomposition.pdf",
    log:
        "results/logs/figures/bias_decomposition.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        code=code_of("bias_decomposition_figure"),
    script:
        "../workflow/scripts/bias_decomposition_figure.py"


rule coverage_figure:
    input:
        "results/tables/coverage.csv",
    output:
        report(
            "results/figures/coverage.png",
            category="Figures",
            subcategory="Coverage",
            labels={"scenario": "all"},
            caption="../workflow/report/coverage.rst",
        ),
        "results/figures/coverage.pdf",
    log:
        "results/logs/figures/coverage.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        code=code_of("coverage_figure"),
    script:
        "../workflow/scripts/coverage_figure.py"


rule winners_figure:
    input:
        "results/tables/winners.csv",
    output:
        report(
            "results/figures/winners.png",
            category="Figures",
            subcategory="Who wins where",
            labels={"scenario": "all"},
            caption="../workflow/report/winners.rst",
        ),
        "results/figures/winners.pdf",
    log:
        "results/logs/figures/winners.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        code=code_of("winners_figure"),
    script:
        "../workflow/scripts/winners_figure.py"
