"""Behind `oomdoc.ray`: the nodes of a cluster, what runs on each, and the tree in which digests are joined."""
