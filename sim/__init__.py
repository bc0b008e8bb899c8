"""The simulator: a protocol's own Python as SimPy processes, untimed and timed.

- *engine*: `gpu` (`SimGpu`: host threads and streams as processes), `cursors` (the protocol, call
  by call), `control` (locks, queues, choices), `ops` (operations, and the front end's sink),
  `contents` (what memory holds), `clock` (what a clock owes to the engine);
- *untimed*: `untimed` (an environment in which everything waits at a gate), `execution` (one run,
  choice by choice), `explore` (every schedule), `sample` (some at random), `story` (a schedule as a
  counterexample), `schedules` (files of them), `decide` (the engine `sim`);
- *timed*: `timed` (costs, hardware, and who hears of it), `watching` (several listeners);
- *costs*: `device` (device files), `costs` (what they mean for calls and operations), `durations`,
  `draws` (random numbers by name);
- *runs*: `simulate` (a protocol by itself), `timeline` (what happened when, and what it adds up
  to), `replicates` (several seeds), `chrome` and `gantt` (traces and plots);
- *serving*: `serving` (a protocol under load), `serving_workload`, `serving_scheduler`,
  `serving_engine` (the engine in the stream API), `serving_session` (as time goes on),
  `serving_costs`, `serving_model` (fitted step costs), `serving_metrics`.

`conform` judges a trace by the machine.

Nothing here is imported before a simulation is asked for:
SimPy takes longer to load than most programs take to decide.
"""
