"""Randomized response: designs, what makes them fit to be estimated from, and the draws that they publish."""
