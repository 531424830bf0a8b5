"""Image batches come from four worker processes through /dev/shm, which a container gives 64 MiB."""

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.rand(3, 448, 448), index % 1000


loader = DataLoader(Images(), batch_size=16, num_workers=4, prefetch_factor=4)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, stride=7), torch.nn.Flatten(), torch.nn.LazyLinear(1000))
optimizer = None
for step, (images, labels) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.3f}", flush=True)
