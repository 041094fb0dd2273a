"""Images for nodes and pods, pulled where a registry answers and else made from packages."""

from thalweg_testbed.images.node import find_node_image

__all__ = ["find_node_image"]
