"""Renderers of verdicts and counterexamples; each starts from plain data.

- `lanes`: swim lanes for a terminal; `colour`: paint for one;
- `text`: verdicts, tables and audits for a terminal; the same as JSON is the verdict's `as_data`;
- `runtime`: what a runtime makes of a verdict, for a terminal;
- `scene`: one missing edge as everything that a picture of it needs; what nobody could read;
- `drawing`: a scene as SVG; `page`: HTML to step through, with `assets/`;
- `mermaid`: a sequence diagram; `chrome_trace`: Perfetto and chrome://tracing;
- `sarif`: code scanning; `junit`: test reports; `regression`: a pytest test; `torch_script`:
  forcing one on a GPU;
- `design`: what a protocol's design page tells; `design_page`, `design_index`: the pages;
- `files`: writing whole files or none;
- `sweep`: protocols as tests; `plugin`: the pytest plugin that runs them.
"""
