"""What the planner reads of the database before a query: tables, columns, levels, and what would change SQL itself."""
