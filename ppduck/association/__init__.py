"""Association, independence, loglinear models and rules, of tables that may be randomized."""
