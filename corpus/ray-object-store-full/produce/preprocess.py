"""Every tokenised shard is kept as an object. Nothing may be spilled, and the disk counts as full from 10 % on."""

import numpy as np
import ray

ray.init(num_cpus=2, object_store_memory=200 << 20, _system_config={"automatic_object_spilling_enabled": False, "local_fs_capacity_threshold": 0.1}, include_dashboard=False)


@ray.remote
def tokenise(shard):
    print(f"tokenised shard {shard}", flush=True)
    return np.random.randint(0, 32000, (4096, 1024), dtype=np.int64)


shards = []
for shard in range(20):
    reference = tokenise.remote(shard)
    shards.append(ray.get(reference))
    shards.append(ray.put(shards[-1].copy()))
    print(f"shard {shard}: {shards[-2].nbytes >> 20} MiB, {len(shards)} objects held", flush=True)
