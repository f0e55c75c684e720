"""What a store of runs says: gains, tables, trends, decision rules."""
