"""A data plane that is only simulated: the metrics of workers, from where their pods really are.

Nothing flows. What would flow in the placement that the API server shows is worked out once a
second with the planner's simulator, under service times and overheads that the planner never sees.
"""
