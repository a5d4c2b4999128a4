"""hooks_jax.py - a compiled training step of JAX."""

import jax
import jax.numpy as jnp


@jax.jit
def step(w, x):
    return w - 1e-3 * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)


weights, inputs = jnp.ones((512, 512)), jnp.ones((256, 512))
for _ in range(30):
    weights = step(weights, inputs)
print(float(weights.sum()))
