"""What randomized answers say of the table before: cells, covariances, queries."""
