"""The subcommands of `streamorder`, a file each, loaded when asked for.

- `parser`: a parser whose errors are one line; the protocol's own parameters told from options;
- `deciding`: what commands that decide protocols share: names, contracts, tasks, progress;
- `output`: tables, JSON, SARIF and JUnit XML on standard output;
- `pictures`: what `explain` writes to files;
- `simulated`, `figures`, `bar`: what `simulate` runs, its tables, its progress bar;
- a file a command, named after it: `add(parser)` gives its options, and sets `action` and whether
  it `takes_parameters` of the protocol.
"""

from __future__ import annotations

COMMANDS = {
    "list": "protocols, contracts, runtimes, engines",
    "check": "decide protocols: the whole catalogue, names, or FILE.py[:function]",
    "explain": "every missing edge of a protocol, each with its counterexample",
    "prove": "decide protocols for every number of steps",
    "simulate": "what protocols cost, and what they do to a serving engine: timed simulation",
    "repair": "minimal additions after which a protocol holds, and redundant waits",
    "audit": "where the host waits for the device, and which waits are undeclared",
    "plan": "AITER's prefill plan for a batch: who works on what; a picture of it",
    "doc": "a design page a protocol, generated, with pictures",
    "export": "write a protocol as a model for SPIN (Promela) or TLC (TLA+)",
    "litmus": "the rules as small programs: the model's outcomes, or with --gpu the device's",
    "validate": "the model and the staged slots against the GPU found here",
}
"""Every subcommand, and what it is for."""
