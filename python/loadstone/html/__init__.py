"""The report of a comparison: one page of HTML that needs nothing else."""
