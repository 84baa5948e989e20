for figure in PLAN.figures:

    rule:
        name:
            figure.rule
        input:
            **PLAN.inputs(figure),
        output:
            figure_outputs(figure),
        log:
            f"results/logs/figures/{figure.name}.log",
        conda:
            ENVIRONMENT
        resources:
            **FOR_FIGURES,
        params:
            function=figure.function,
            scenarios=PLAN.scenarios[figure.of],
            each=figure.each,
            given=PLAN.given(figure),
            order=PLAN.order,
            plugins=PLAN.plugins,
            code=code_of("draw_figures", figure.function),
        script:
            "../workflow/scripts/draw_figures.py"
