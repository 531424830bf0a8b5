"""Trains twelve square layers of 8192 in JAX, with a larger batch in every step."""

import jax
import jax.numpy as jnp
import optax

WIDTH, LAYERS = 8192, 12

keys = jax.random.split(jax.random.PRNGKey(0), LAYERS)
parameters = [jax.random.normal(key, (WIDTH, WIDTH)) * 0.02 for key in keys]
optimizer = optax.adamw(1e-4)
state = optimizer.init(parameters)


def mean_square(parameters, inputs):
    for weight in parameters:
        inputs = jax.nn.gelu(inputs @ weight)
    return (inputs**2).mean()


@jax.jit
def train_step(parameters, state, inputs):
    loss, gradients = jax.value_and_grad(mean_square)(parameters, inputs)
    updates, state = optimizer.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, loss


for step, batch in enumerate([4096, 16384, 131072, 524288]):
    parameters, state, loss = train_step(parameters, state, jnp.ones((batch, WIDTH)))
    print("step", step, "loss", float(loss), flush=True)
