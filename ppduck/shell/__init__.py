"""The ppduck command: SQL with ppduck loaded, from a script or at a prompt."""

from ppduck.shell.command import main

__all__ = ["main"]
