"""Protocols as models for other checkers: Promela for SPIN, TLA+ for TLC.

Data flows one way: `flow` traces a protocol, every path, and has `symbolic` say what each call
does with the frontiers left as names; the result is `action`s (with `versions` as numbers),
`roll`ed into loops; `layout` finds what has to be kept of it, `accesses` which accesses can meet;
`promela` and `tla` write it down; `export` is what users call. `checkers` runs SPIN and TLC.
"""
