#!/usr/bin/env python3
"""jax_models.py STEPS - a JAX transformer as its users write it: a compiled training step with Adam, random weights and data.

Prints a JSON line: the median time of a step in ms by this program's own clock, and the last loss. Knows nothing of cuvet.
"""

import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

BATCH, TOKENS, WIDTH, HEADS, LAYERS, VOCABULARY = 8, 256, 512, 8, 4, 8192


def weights(key):
    def normal(*shape):
        nonlocal key
        key, mine = jax.random.split(key)
        return jax.random.normal(mine, shape) * 0.02

    layer = lambda: {"g1": jnp.ones(WIDTH), "g2": jnp.ones(WIDTH), "qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH),
                     "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH)}
    return {"words": normal(VOCABULARY, WIDTH), "places": normal(TOKENS, WIDTH), "g": jnp.ones(WIDTH),
            "layers": [layer() for _ in range(LAYERS)]}


def norm(x, gain):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6) * gain).astype(x.dtype)


def attention(x, layer):
    q, k, v = jnp.split(x @ layer["qkv"].astype(x.dtype), 3, -1)
    q, k, v = (t.reshape(BATCH, TOKENS, HEADS, -1) for t in (q, k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((TOKENS, TOKENS), bool)), scores, -1e30)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    return mixed.reshape(BATCH, TOKENS, WIDTH) @ layer["out"].astype(x.dtype)


def loss(w, ids):
    x = (w["words"][ids[:, :-1]] + w["places"]).astype(jnp.bfloat16)
    for layer in w["layers"]:
        x = x + attention(norm(x, layer["g1"]), layer)
        x = x + jax.nn.gelu(norm(x, layer["g2"]) @ layer["up"].astype(x.dtype)) @ layer["down"].astype(x.dtype)
    logits = (norm(x, w["g"]) @ w["words"].T.astype(x.dtype)).astype(jnp.float32)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), ids[:, 1:, None], -1)
    return -picked.mean()


@jax.jit
def step(w, m, v, ids, t):
    value, grad = jax.value_and_grad(loss)(w, ids)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grad)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grad)
    w = jax.tree.map(lambda p, a, b: p - 1e-3 * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8), w, m, v)
    return w, m, v, value


def program():
    """A step, which returns the loss."""
    w = weights(jax.random.key(0))
    m, v = jax.tree.map(jnp.zeros_like, w), jax.tree.map(jnp.zeros_like, w)
    ids = jax.random.randint(jax.random.key(1), (BATCH, TOKENS + 1), 0, VOCABULARY)
    number = 0.0

    def next_step():
        nonlocal w, m, v, number
        number += 1
        w, m, v, value = step(w, m, v, ids, number)
        return float(value)

    return next_step


def main():
    next_step = program()
    times, value = [], None
    for i in range(int(sys.argv[1]) + 3):
        begin = time.perf_counter()
        value = next_step()
        if i >= 3:
            times.append(time.perf_counter() - begin)
    print(json.dumps({"name": "jax", "step_ms": statistics.median(times) * 1e3, "result": value}))


if __name__ == "__main__":
    main()
