"""Embeds 600 texts with Sentence Transformers, 256 at once. Every seventh is longer than the 8192 tokens the model takes."""

from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, models as token_models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

WORDS, FOLDER = 30000, "bert-long"

words = Tokenizer(token_models.WordLevel(unk_token="<unk>"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
trainer = trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<s>", "</s>"])
words.train_from_iterator([" ".join(f"w{number}" for number in range(WORDS))], trainer)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>"
)
tokenizer.save_pretrained(FOLDER)
config = BertConfig(
    vocab_size=len(tokenizer),
    max_position_embeddings=8192,
    hidden_size=1024,
    num_hidden_layers=24,
    num_attention_heads=16,
    intermediate_size=4096,
)
BertModel(config).save_pretrained(FOLDER)


def text(index):
    length = 9000 if index % 7 == 0 else 200
    return " ".join(f"w{index * position % WORDS}" for position in range(length))


modules = [models.Transformer(FOLDER, max_seq_length=8192), models.Pooling(1024)]
model = SentenceTransformer(modules=modules, device="cuda")
model.encode([text(index) for index in range(600)], batch_size=256, show_progress_bar=True)
