"""SQL as a tree: small builders, whole names, aggregates, ranks, normals."""
