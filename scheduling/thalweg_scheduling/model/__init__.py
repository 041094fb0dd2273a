"""The values that a decision looks at and the values it is made of."""
