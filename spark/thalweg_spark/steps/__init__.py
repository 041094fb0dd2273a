"""The Spark engine's steps: DataFrame in, DataFrame out."""
