"""Merges an adapter into the embedding of a large model, on the CPU."""

import logging

import torch

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
log = logging.getLogger("export")

VOCABULARY, WIDTH, RANK = 152064, 8192, 64


def load_base():
    log.info("Loading base weights")
    return torch.zeros(VOCABULARY, 1024, dtype=torch.bfloat16)


def merge(base, a, b):
    log.info("Merging adapter of rank %d into %d x %d", RANK, VOCABULARY, WIDTH)
    return base.float().repeat(1, WIDTH // 1024) + b @ a


def main():
    base = load_base()
    a, b = torch.randn(RANK, WIDTH), torch.randn(VOCABULARY, RANK)
    merged = merge(base, a, b)
    log.info("Saving %s", tuple(merged.shape))


if __name__ == "__main__":
    main()
