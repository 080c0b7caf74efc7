"""The masks: one file a method, holding its parameters, its solve, its promises and its reference."""
