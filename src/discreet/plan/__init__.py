"""Questions: schema, the closed set of nodes and expressions, bounding and sensitivity.

Everything here reads public metadata alone.
"""
