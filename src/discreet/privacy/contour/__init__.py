"""The contour accountant: numerical composition along lines of complex orders."""
