"""The report of a comparison: one page of HTML that needs nothing else."""

import logging

# Where it keeps its cache of fonts is nothing that a user of this command wants to read.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
