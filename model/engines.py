"""The engines by name. Apart from them, so that a command line is parsed without loading them."""

from __future__ import annotations

ENGINES = ("order", "machine")
"""Happens-before, and explicit states (see `check`)."""
