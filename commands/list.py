"""`streamorder list`: protocols, contracts, runtimes, engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.catalogue import catalogue, find
from ..model.contract import CONTRACTS
from ..model.engines import ENGINES
from ..model.profiles import PROFILES

if TYPE_CHECKING:
    import argparse

    from .parser import Parser


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="names, with * and ?")
    parser.add_argument("--runtimes", action="store_true", help="the runtimes and nothing else")
    parser.set_defaults(action=run, takes_parameters=False)


def run(options: argparse.Namespace) -> int:
    """Print them."""
    if options.runtimes:
        print_runtimes(max(map(len, PROFILES)))
        return 0
    entries = find(options.names) if options.names else list(catalogue().values())
    width = max(len(entry.name) for entry in entries)
    print("protocols")
    for entry in entries:
        print(f"  {entry.name.ljust(width)}  {entry.summary}")
    if not options.names:
        print("contracts")
        for contract in CONTRACTS.values():
            print(f"  {contract.name.ljust(width)}  {contract.title}")
        print_runtimes(width)
        print("engines")
        for name, words in ENGINES.items():
            print(f"  {name.ljust(width)}  {words}")
    return 0


def print_runtimes(width: int) -> None:
    """Print the profiles."""
    print("runtimes")
    for profile in PROFILES.values():
        print(f"  {profile.name.ljust(width)}  {profile.title}")
