"""How the cost of readers and writers grows: one generator per parameter of a grammar.

`harness` measures; `gcf` and the modules beside it list the cases. `python -m tests.scaling gcf`
prints the figures.
"""
