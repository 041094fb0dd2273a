"""The kind tier: real kubelets, pods, routes and latency. See docs/testbed.md."""

pytest_plugins = ["thalweg_testbed.kind.pytest_plugin"]
