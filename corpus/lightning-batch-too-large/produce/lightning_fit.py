"""Lightning trains a ViT-L/16 with 2048 images a batch, in fp32."""

import lightning
import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.vit_l_16()

    def training_step(self, batch, index):
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch, index):
        images, labels = batch
        self.log("val", nn.functional.cross_entropy(self.net(images), labels))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Images(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.randn(3, 224, 224), 1


def batches(size):
    return DataLoader(Images(), batch_size=size, num_workers=8)


trainer = lightning.Trainer(
    max_epochs=1,
    accelerator="gpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    num_sanity_val_steps=2,
    precision="32-true",
)
trainer.fit(Classifier(), batches(2048), batches(2))
