"""Allocates arrays of 2 GiB for a simulation with Numba until the GPU is full."""

import numpy as np
from numba import cuda

slabs = []
for index in range(64):
    print("allocating slab", index, flush=True)
    slabs.append(cuda.device_array((512, 1024, 1024), dtype=np.float32))
