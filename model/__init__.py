"""What may happen: the stream API, its rules, the engines that decide, and the counterexamples.

Data flows one way:

- *protocol*: `protocol` (declaring one), `catalogue` and `protocols` (the library), `load` (files);
- *API*: `gpu` (all of it) from `calls`, `host_calls`, `memory_calls`, `stream_calls`, `checks`;
  `objects` (streams, events), `memory` (buffers and what a read expects); `host` (tracing the
  protocol's Python into a tree of calls), `shared_state` over `state_parts`, `state_names`
  and `whose`; `unrun`, `again`, `where`;
- *front end*: `frontend` from `streams`, `copies`, `allocation`, `signals`, `graphs` (every rule of
  the API); `contract` (what a runtime promises), `sync` (locks and queues);
- *engines*: `order` = `direct` and `tree` over `clocks`, `schedule`, `search`, `host_order`,
  `news`, `values`; `machine` over `effects`, walked by `explore` and asked by `decide_states`;
  `refined` (outcomes of litmus tests); all give a `decision`;
- *every number of steps*: `prove` = `proof` over `boundary`, `normal_form`, `host_state`, `step`;
- *runtimes*: `runtime` decides on `profiles`, `environment` and `sweeps` over `queue_maps`;
  `masking` is what a runtime adds, `masked` the front end that adds it, `waits_for` the cycle of a
  hang;
- *repair*: `repair` (a package: minimal additions, redundant waits), over `calls.Editor`;
- *verdict*: `check`, `engines`, `verdict`, `reuse`, `audit`, `errors`;
- *counterexample*: `recorder`, `edges`, `witness`, `owners` (whose memory it was), `reasons`,
  `linear`, `replay`, `trace`; `state_path` (from the machine's own path).
"""
