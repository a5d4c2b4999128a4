"""jax_graph.py [STEPS] - a compiled step of JAX in a CUDA graph that XLA builds by hand, node by node.

The step adds, multiplies by a matrix, and subtracts where it should add: by jax_graph.yaml both kernels are sums. Prints
checksums of its results; ends with 77 where there is no JAX.
"""

import hashlib
import os
import sys

# A graph of few commands is one, too; products are cuBLAS's, by an algorithm that no timing chooses.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=0")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print("left out: %s" % error)
    sys.exit(77)

SIZE = 256


@jax.jit
def step(a, b, w):
    total = a + b
    return total, jnp.dot(total, w) - b


def digest(*arrays):
    h = hashlib.sha1()
    for array in arrays:
        h.update(jax.device_get(array).tobytes())
    return h.hexdigest()[:16]


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    keys = jax.random.split(jax.random.PRNGKey(7), 3)
    a, b = (jax.random.normal(key, (SIZE, SIZE), jnp.float32) for key in keys[:2])
    w = jax.random.normal(keys[2], (SIZE, SIZE), jnp.float32) / SIZE ** 0.5
    kept = []
    for i in range(steps):
        total, wrong = step(a, b, w)
        kept = (kept + [wrong])[-(i % 3 + 1):]  # buffers move
        a = jnp.where(i % 2, total * 0.5, a)
        if i % 100 == 99:
            print("step", i, digest(a, total, wrong))
    print("end", digest(a, *kept))


if __name__ == "__main__":
    main()
