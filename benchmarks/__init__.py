"""Side by side with peers, in one run: `make bench`, or `python -m benchmarks noise`."""
