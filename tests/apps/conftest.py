"""One running service."""

from __future__ import annotations

from tests.apps.running_service import service

__all__ = ["service"]
