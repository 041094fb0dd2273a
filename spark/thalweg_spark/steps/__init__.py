"""The Spark engine's steps: DataFrame in, DataFrame out, built-in functions only."""
