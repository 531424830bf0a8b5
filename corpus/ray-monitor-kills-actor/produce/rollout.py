"""Two roll-out workers fill their buffers while a learner on the same node waits for samples."""

import time

import numpy as np
import ray

ray.init(address="auto")


@ray.remote(num_cpus=0.5, max_restarts=0)
class RolloutWorker:
    def __init__(self, index, megabytes):
        self.index, self.megabytes, self.buffer = index, megabytes, []

    def generate(self, step):
        self.buffer.append(np.full(self.megabytes << 17, step, dtype=np.float64))
        print(f"rollout worker {self.index}: step {step}, {len(self.buffer)} batches kept", flush=True)
        time.sleep(1)
        return self.buffer[-1][:1024]


@ray.remote(num_cpus=0.5)
class Learner:
    def update(self, *samples):
        return float(np.mean([sample.mean() for sample in samples]))


workers = [RolloutWorker.options(name=f"rollout_{index}").remote(index, 60 * (index + 1)) for index in range(2)]
learner = Learner.remote()
for step in range(1000):
    samples = [worker.generate.remote(step) for worker in workers]
    print(f"step {step}: loss {ray.get(learner.update.remote(*samples)):.3f}", flush=True)
