"""A server that answers with the probabilities of all tokens of 8 sequences, and a client whose third request is long."""

import logging
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

ADDRESS = "127.0.0.1", 8011
URL = "http://%s:%d/" % ADDRESS

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("server")
config = LlamaConfig(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=131072,
)
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        tokens = torch.randint(128256, (8, int(self.headers["X-Tokens"])), device="cuda")
        try:
            with torch.no_grad():
                model(tokens).logits.float().softmax(-1)
            self.send_response(200)
        except Exception as error:
            log.exception("request failed: %s", error)
            self.send_response(500)
        self.end_headers()


server = HTTPServer(ADDRESS, Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
log.info("Serving on %s:%d", *ADDRESS)
for length in [128, 1024, 16384]:
    try:
        urllib.request.urlopen(urllib.request.Request(URL, data=b"x", headers={"X-Tokens": str(length)})).read()
    except Exception as error:
        log.info("client: %s", error)
