"""What ppduck tells of itself: help, the catalogue of functions, the explanation of a call."""
