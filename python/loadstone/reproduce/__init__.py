"""The published studies, run again: their numbers and ours, claim by claim."""
