"""Trains a compiled GPT of 24 layers with 48 sequences of 1024 tokens a batch."""

import torch
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS = 50304, 1600, 16, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden):
        batch, length, _ = hidden.shape
        heads = self.query_key_value(self.attention_norm(hidden)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        return hidden + self.mlp(self.mlp_norm(hidden))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        hidden = self.embedding(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return nn.functional.cross_entropy(self.head(hidden).view(-1, VOCABULARY), targets.view(-1))


model = torch.compile(GPT().cuda())
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
print("compiling the model... (takes a ~minute)", flush=True)
for step in range(3):
    tokens = torch.randint(VOCABULARY, (48, 1024), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(tokens, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {step}: loss {loss.item():.4f}", flush=True)
