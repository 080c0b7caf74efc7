"""The column in which a mask publishes which rows it has put together."""

from __future__ import annotations

GROUP_ID = "group_id"
