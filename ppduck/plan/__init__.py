"""From a call's text to one SELECT: arguments, catalogue, SQL building, statistics, projection."""
