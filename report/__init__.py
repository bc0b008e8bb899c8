"""Renderers of verdicts and counterexamples; each starts from plain data.

- `lanes`: swim lanes for a terminal;
- `runtime`: what a runtime makes of a verdict, for a terminal;
- `text`: verdicts, tables and audits for a terminal;
- `data`: the same as JSON.
"""
