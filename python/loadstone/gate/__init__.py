"""The gate of `loadstone compare --assert`: assertions about a comparison, and whether they hold."""
