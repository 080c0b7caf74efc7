"""What a statement calls in Python while it runs: checks, the small solve, and what they refuse or warn of."""
