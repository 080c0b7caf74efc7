"""What the statement of a mask is made of: source with keys, first look, noise, moments, solve, projection."""
