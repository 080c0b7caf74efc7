"""How a function is called: parameters and their ranges, arguments read from text, kinds of functions, the registry."""
