"""What users write and others read back, parsed once into values.

Nothing beyond this package looks into the dictionaries of a StreamTopology or StreamVertex spec.
"""
