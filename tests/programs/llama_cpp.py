#!/usr/bin/env python3
"""llama_cpp.py LLAMA_SIMPLE CUVET [TOKENS] - llama.cpp's generation, token by token, bare and under `cuvet run`.

LLAMA_SIMPLE is llama.cpp's example `llama-simple`, built with GGML_CUDA and GGML_CUDA_GRAPHS (its default), of any version. The model is
made here: a small Llama with random weights in f16 and q8_0, whose end token is never the likeliest. Fails where the text
differs, a kernel is found wrong, the buckets do not add up, or a wrong entry is not found. Prints what was checked, and in graphs.
"""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import numpy

LAYERS, WIDTH, HEADS, INNER, WORDS = 2, 256, 4, 512, 300
F32, F16, Q8_0 = 0, 1, 8
# Norms by another eps than theirs.
WRONG = """version: 1
kernels:
  - kernel: '/rms_norm_f32<\\d+, true, false(, false)?>/'
    label: other_eps
    signature: >
      const f32 x[grid.x:stride][ncols], f32 y[grid.x][ncols], i32 ncols, i64 stride, _, _, f32 eps, const f32 w[ncols], ...
    reference: rmsnorm
    bind: {eps: 0.5}
"""


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, value):
    """A key and a value of GGUF: unsigned, float, string, or an array of one of these."""
    def tagged(v):
        if isinstance(v, str):
            return 8, text(v)
        return (6, struct.pack("<f", v)) if isinstance(v, float) else (4, struct.pack("<I", v))

    if not isinstance(value, list):
        kind, raw = tagged(value)
        return text(key) + struct.pack("<I", kind) + raw
    kind = tagged(value[0])[0] if key != "tokenizer.ggml.token_type" else 5
    return text(key) + struct.pack("<IIQ", 9, kind, len(value)) + b"".join(tagged(v)[1] for v in value)


def quantised(x):
    """Blocks of 32: a factor in f16 and 32 integers."""
    blocks = x.reshape(-1, 32)
    factor = numpy.abs(blocks).max(1, keepdims=True) / 127
    whole = numpy.rint(blocks / factor).astype(numpy.int8)
    return numpy.concatenate([factor.astype(numpy.float16).view(numpy.int8), whole], 1).tobytes()


STORED = {F32: lambda x: x.astype(numpy.float32).tobytes(), F16: lambda x: x.astype(numpy.float16).tobytes(), Q8_0: quantised}


def tensors():
    """Name, type and numbers of each."""
    draw = numpy.random.default_rng(7)

    def matrix(rows, cols):
        return draw.standard_normal((rows, cols)) / cols ** 0.5

    out = matrix(WORDS, WIDTH) * 4
    out[2] = 0  # the end token
    yield "token_embd.weight", F16, matrix(WORDS, WIDTH) * WIDTH ** 0.5
    yield "output_norm.weight", F32, 1 + 0.1 * draw.standard_normal(WIDTH)
    yield "output.weight", F16, out
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield "blk.%d.%s.weight" % (layer, name), F32, 1 + 0.1 * draw.standard_normal(WIDTH)
        for name, rows, cols in (("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, WIDTH), ("attn_v", WIDTH, WIDTH), ("attn_output", WIDTH, WIDTH),
                                 ("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            yield "blk.%d.%s.weight" % (layer, name), Q8_0 if layer else F16, matrix(rows, cols)


def write_model(path):
    words = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    words += ["w%d" % i for i in range(WORDS - len(words))]
    keys = {"general.architecture": "llama", "general.name": "random", "llama.block_count": LAYERS, "llama.context_length": 4096,
            "llama.embedding_length": WIDTH, "llama.feed_forward_length": INNER, "llama.attention.head_count": HEADS,
            "llama.attention.head_count_kv": HEADS, "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0,
            "llama.rope.dimension_count": WIDTH // HEADS, "llama.vocab_size": WORDS, "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": words, "tokenizer.ggml.scores": [-float(i) for i in range(WORDS)],
            "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (WORDS - 259), "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}
    listed, data = b"", b""
    made = list(tensors())
    for name, kind, x in made:
        listed += text(name) + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", d) for d in reversed(x.shape))
        listed += struct.pack("<IQ", kind, len(data))
        data += STORED[kind](x)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(made), len(keys)) + b"".join(pair(k, v) for k, v in keys.items()) + listed
    with open(path, "wb") as out:
        out.write(head + bytes(-len(head) % 32) + data)


def run(argv, extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    done = subprocess.run(argv, env=dict(env, **extra), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=170)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def totals(folder):
    """Numbers by kernel, launches seen, reasons, kernels with findings, and whether the buckets add up."""
    kernels, seen, reasons, findings, balanced = {}, 0, {}, set(), False
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        with open(path, errors="replace") as lines:
            for line in lines:
                event = json.loads(line)
                if event.get("event") == "totals":
                    kernels[event.get("label") or event["kernel"]] = event
                elif event.get("event") == "finding":
                    findings.add(event.get("label") or event["kernel"])
                elif event.get("event") == "end":
                    seen, reasons, balanced = event["seen"], event["reasons"], event["balanced"]
    return kernels, seen, reasons, findings, balanced


def under(cuvet, program, bare, folder, extra, options=()):
    """Complaints about a run under cuvet, and its findings."""
    code, out, err = run([cuvet, "run", *options, "-o", folder, "--", *program], extra)
    kernels, seen, reasons, findings, balanced = totals(folder)
    count = {k: sum(e.get(k, 0) for e in kernels.values()) for k in ("launches", "checked", "match", "mismatch")}
    print("%s: %s launches seen, %s; unchecked %s" % (" ".join("%s=%s" % p for p in extra.items()) or "defaults", seen, count,
                                                   json.dumps(reasons, sort_keys=True)))
    print("\n".join(line for line in err.split("\n") if re.match(r"  Time on the GPU|cuvet run: |  +[0-9.]+ %  ", line)))
    if code or out != bare:
        yield "exit %d, text %s: %s" % (code, "the same" if out == bare else "differs", err[-1500:])
    if count["checked"] < 100:
        yield "%d launches checked, expected 100" % count["checked"]
    if not balanced:
        yield "the buckets do not add up"
    wrong = {"other_eps"} if options else set()
    if findings != wrong:
        yield "findings for %s, expected %s" % (sorted(findings), sorted(wrong))


def main():
    simple, cuvet = (os.path.abspath(p) for p in sys.argv[1:3])
    tokens = sys.argv[3] if len(sys.argv) > 3 else "1000"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        model, entry = os.path.join(folder, "model.gguf"), os.path.join(folder, "wrong.yaml")
        write_model(model)
        with open(entry, "w") as out:
            out.write(WRONG)
        program = [simple, "-m", model, "-n", tokens, "Hello"]
        code, bare, err = run(program, {})
        again = run(program, {})[1]
        print("bare: exit %d, %d bytes, twice the same: %s" % (code, len(bare), bare == again))
        if code or bare != again:
            wrong.append(err[-1500:])
        for name, extra, options in (("default", {}, ()), ("every", {"CUVET_SAMPLE": "1", "CUVET_BUDGET": "off"}, ()),
                                     ("cupti", {"CUVET_HOOK": "cupti", "CUVET_SAMPLE": "0.1", "CUVET_BUDGET": "off"}, ()),
                                     ("wrong", {"CUVET_SAMPLE": "0.05", "CUVET_BUDGET": "off"}, ("-c", entry))):
            wrong += under(cuvet, program, bare, os.path.join(folder, name), extra, options)
    for complaint in wrong:
        print(complaint)
    print("llama.cpp" if not wrong else "not llama.cpp")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
