"""The parts of `oomdoc.ray`: the cluster's nodes, the task that runs on each, and the tree that joins their digests."""
