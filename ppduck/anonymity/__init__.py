"""How well groups of alike rows hide a person."""
