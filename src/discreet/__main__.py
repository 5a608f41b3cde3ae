"""`python -m discreet` is the command line where `discreet` itself is not on the path."""

from discreet.cli import main

main()
