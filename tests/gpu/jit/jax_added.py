"""jax_added.py - products that XLA adds to a matrix in place, by cublasLtMatmul (bf16 and f16), one after another.

Prints how many elements differ from the sum rounded once, and from that with the product rounded before it.
"""

import functools
import os

os.environ["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=false"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy

ROWS, COLS, ROUNDS = 2048, 512, 20


@functools.partial(jax.jit, donate_argnums=0)  # in place
def step(x, a, b):
    return x + a @ b


def exact(a, b, x, dtype, twice):
    product = numpy.asarray(a, numpy.float64) @ numpy.asarray(b, numpy.float64)
    if twice:
        product = numpy.asarray(jnp.asarray(product, jnp.float32).astype(dtype), numpy.float64)
    return numpy.asarray(jnp.asarray(product + numpy.asarray(x, numpy.float64), jnp.float32).astype(dtype), numpy.float64)


for dtype in (jnp.bfloat16, jnp.float16):
    for terms in (512, 2048):
        keys = jax.random.split(jax.random.key(terms), 3)
        a, b = (jax.random.normal(key, shape).astype(dtype) / terms ** 0.5
                for key, shape in zip(keys, ((ROWS, terms), (terms, COLS))))
        x = jax.random.normal(keys[2], (ROWS, COLS)).astype(dtype)
        sums = [exact(a, b, x, dtype, twice) for twice in (False, True)]
        x = step(x, a, b)
        first = numpy.asarray(x, numpy.float64)
        once, twice = ((first != one).sum() for one in sums)
        for _ in range(ROUNDS):
            x = step(x, a, b)
        print("measured: %s, k = %d: of %d elements %d differ from one rounding, %d from two" % (
            dtype.__name__, terms, first.size, once, twice))
        print(float(x.astype(jnp.float32).sum()))
