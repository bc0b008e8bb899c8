"""Protocols as models for other checkers: Promela for SPIN, TLA+ for TLC.

Data flows one way: `flow` traces a protocol, every path, and has `symbolic` say what each call
does with the frontiers left as names; the result is `action`s (with `versions` as numbers),
`roll`ed into loops; `watched` and `layout` find what has to be kept of it, `accesses` which
accesses can meet; `promela` (over `promela_lanes` and `promela_words`, with `batches`) and `tla`
(over `places`) write it down under a `heading`; `export` is what users call. `checkers` runs SPIN
and TLC.
"""
