"""The simulator: a protocol's own Python as SimPy processes, untimed and timed.

- *engine*: `gpu` (`SimGpu`: host threads and streams as processes), `cursors` (the protocol, call
  by call), `control` (locks, queues, choices), `ops` (operations, and the front end's sink),
  `contents` (what memory holds), `clock` (what a clock owes to the engine);
- *untimed*: `untimed` (an environment in which everything waits at a gate), `execution` (one run,
  choice by choice), `explore` (every schedule);
- *timed*: `timed` (costs, hardware, and who hears of it).

`conform` judges a trace by the machine. Nothing here is imported before a simulation is asked for:
SimPy takes longer to load than most programs take to decide.
"""
