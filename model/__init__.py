"""What may happen: the stream API, its rules, the engines that decide, and the counterexamples.

Data flows one way:

- *protocol*: `protocol` (declaring one), `catalogue` and `protocols` (the library), `load` (files);
- *API*: `gpu` (the calls), `objects` (streams, events, buffers), `host` (tracing the protocol's
  Python into a tree of calls), `shared_state`, `where`;
- *front end*: `frontend`, `streams`, `copies` (every rule of the API), `contract` (what a runtime
  promises), `sync` (locks and queues);
- *engines*: `order` = `direct` and `tree` over `clocks`, `schedule`, `search`; `machine` over
  `effects`, walked by `explore` and asked by `decide_states`; both give a `decision`;
- *verdict*: `check`, `verdict`, `reuse`, `audit`;
- *counterexample*: `recorder`, `edges`, `witness`, `reasons`, `replay`, `trace`.
"""
