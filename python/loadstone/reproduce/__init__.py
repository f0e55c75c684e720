"""The published studies, run again: their numbers beside ours, claim by claim."""
