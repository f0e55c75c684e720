"""`python -m loadstone` is `loadstone`."""

from loadstone.cli import main

main()
