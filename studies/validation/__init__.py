"""The simulator held against the live kernel: what is loaded, how it is measured, scored and published."""
