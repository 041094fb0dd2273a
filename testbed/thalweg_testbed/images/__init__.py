"""Images for nodes and pods, pulled where a registry answers and else made from packages."""

from thalweg_testbed.images.node import find_node_image
from thalweg_testbed.images.pods import Images

__all__ = ["Images", "find_node_image"]
