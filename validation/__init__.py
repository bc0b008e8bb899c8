"""Checks against the real thing: AITER's planner and the GPU.

Modules here may need numpy or torch, which plain use of the package does not.
"""
