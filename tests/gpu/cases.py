"""cases.py - the table of GPU test cases; run.py runs it."""

import dataclasses
import os
import typing


@dataclasses.dataclass
class Case:
    """One program, bare and under cuvet. {build} {gen} {here} {config} {lib} {python} {tmp} are filled in."""

    name: str
    shows: str
    argv: list
    registry: typing.Optional[str] = None       # path
    registry_text: typing.Optional[str] = None  # or its text
    env: dict = dataclasses.field(default_factory=dict)  # beside CUVET_SAMPLE=1 and the like
    bare: typing.Optional[list] = None          # another command for the bare run
    code: typing.Optional[int] = 0              # exit code of the bare run; None: any
    ran_code: typing.Optional[int] = None       # under cuvet, where another is expected
    races: tuple = ()                           # exit codes of a program that races with itself: any of them
    front_door: typing.Optional[tuple] = None   # through `cuvet run` with these options
    alone: bool = False                         # no other case at the same time
    once: bool = False                          # bare only: the program judges itself
    softgpu: bool = False                       # runs on the stand-ins, too
    ends: typing.Optional[int] = 1              # journals with an end line; None: any number
    slack: int = 0                              # launches that may be under way at the end line
    at_least: int = 1                           # launches checked
    findings: typing.Optional[tuple] = ()       # kernels with findings, exactly; None: any
    may: tuple = ()                             # kernels that may have findings, too
    checked: dict = dataclasses.field(default_factory=dict)  # kernel: launches checked at least
    launch_errors: tuple = ()
    reasons: dict = dataclasses.field(default_factory=dict)  # skip reason: launches at least
    says: tuple = ()                            # patterns, on standard error or in a warning
    most_lines: int = 200                       # on standard error


def _ways():
    names = ("params", "extra", "ex", "ex_extra", "cooperative", "ptds", "ptds_ex", "legacy", "library",
             "reload")
    return {"via_" + name: 3 for name in names}


def _changed(table, old, new):
    """A shipped table with another text in the place of `old`."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../config/kernels", table)
    with open(path) as text:
        found = text.read()
    assert old in found, "%s has no %r" % (table, old)
    return found.replace(old, new)


def _unmasked():
    """flashattention.yaml with all keys seen by all queries."""
    entry = "    reference: attention\n"
    return _changed("flashattention.yaml", entry, entry + "    bind: {left: 0 - 1, right: 0 - 1}\n")


# What is planted into decode.py: cache, kernels with findings, what is said. Kernels are exact eagerly; in a graph
# a plant lasts for so many steps that it shows in other kernels, too.
_PLANTS = {
    "next": ("paged", ("append_paged",), r"row \d+ of 'kc' changed, which no element of 'slots' names"),
    "pads": ("paged", ("append_paged",), r"row -1 of 'kc' changed"),
    "stale": ("paged", ("append_paged", "attend_paged"), r"of 'kc' is written .*'slots' does not advance"),
    "shared": ("paged", ("attend_paged",), r"is entry 0 of sequence 4 and entry 0 of sequence 5 in 'table'"),
    "null": ("paged", ("attend_paged",), r"sequence 2 reads the null page, 0, by entry 0 of 'table'"),
    "long": ("paged", ("attend_paged",), r"which was never written: it holds zeros"),
    "freed": ("paged", ("attend_paged",), r"sequence 2 reads place \d+ of \d+, .*not appended since"),
    # What it leaves unwritten is found hundreds of times, and reports keep some findings of a kernel.
    "reused": ("paged", None, r"was appended again while|which was never written"),
    "stays": ("static", ("append_static",), r"'cache_position' is \d+ .*with other data: it does not advance"),
    "skips": ("static", ("append_static",), r"it goes on by 2, and 'step' is 1"),
    "mixes": ("rows", None, r"contract rows: "),  # of which kernel a finding is depends on who is checked last
    "variant": ("tuned", ("tuned_swiglu",), r"contract variants: "),
    "overwrites": ("micro", ("accumulate",), r"accumulate, launch"),
}

# In a graph, too, the finding is of this kernel, whoever is checked last.
_NAMED = ("next", "pads", "shared", "null")

# Steps and environment of a mode: a graph needs some replays before it has a twin. Inputs repeat after 67 steps, so
# kernels that are held against each other run for fewer.
_MODES = {"eager": ("200", {}), "graph": ("2000", {"CUVET_SAMPLE": "0.2"})}
_BLAS = "{config}/calls/cublas.yaml:{config}/calls/cublas_f8.yaml"
_LITTLE = {"CUVET_SAMPLE": "0.01", "CUVET_BUDGET": "5%"}


def _loop(name, shows, mode, plant, steps, cache, **fields):
    return Case("planted_%s_%s" % (name, mode), shows, ["{python}", "{here}/jit/decode.py", mode, plant, steps, cache],
                "{here}/jit/decode.yaml", **fields)


def _model(mode, plant, said):
    steps, env = _MODES[mode] if said else ("10000", {"CUVET_SAMPLE": "0.2"})
    return Case("planted_model_%s_%s" % (plant, mode), "a transformers model with a static cache: " + plant,
                ["{python}", "{here}/jit/static_model.py", mode, plant, steps], "{here}/jit/decode.yaml", env=env,
                findings=("append_static",) if said else (), says=(said,) if said else (),
                checked={"append_static": 20 if said else 100})


def _planted():
    """Each plant in both modes; each cache without one; and a model."""
    for mode, (steps, env) in _MODES.items():
        for plant, (cache, kernels, said) in _PLANTS.items():
            pairs = cache in ("rows", "tuned")
            yield _loop(plant, "%s, planted into a decode loop (%s)" % (plant, cache), mode, plant,
                        "60" if pairs and mode == "eager" else steps, cache, says=(said,), env=env,
                        findings=kernels if mode == "eager" or plant in _NAMED else None,
                        # What a reader must obey is judged with the append behind it, where that one is done first.
                        may=("append_paged", "attend_paged") if mode == "graph" else
                        ("append_paged",) if kernels == ("attend_paged",) else ())
        for cache, kernel in (("static", "append_static"), ("rows", "row_norm_batched"), ("tuned", "tuned_swiglu"),
                              ("micro", "accumulate")):
            yield _loop("none_" + cache, "%s, 10,000 steps without a plant: quiet" % cache, mode, "none", "10000",
                        cache, checked={kernel: 5}, env=_LITTLE)
        yield _model(mode, "none", None)
        yield _model(mode, "stale", r"'cache_position' is \d+ .*with other data: it does not advance")
        yield _model(mode, "next", r"row \d+ of 'cache' changed, which no element of 'cache_position' names")


def _edited(how, shows, right=True, **fields):
    """tests/scenario/edited: 1,000 launches of a graph that is edited before each, with a wrong kernel and without."""
    argv, registry = ["{build}/edited", "{build}/edited_kernels.fatbin", how], "{here}/../scenario/common/registry.yaml"
    fields.setdefault("env", {"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_TABLES": "off"})
    found = fields.pop("findings", ("norm_wrong",))
    cases = [Case("edited_" + how, shows + ("; a wrong kernel is named" if found else ""), argv + ["wrong", "1000"], registry,
                  findings=found, **fields)]
    if right:
        fields["checked"] = {"norm_right": sum(fields["checked"].values())}
        cases.append(Case("edited_%s_quiet" % how, "the same without it", argv + ["right", "1000"], registry, **fields))
    return cases


_GRAPH_NORM = """version: 1
kernels:
  - kernel: graph_norm
    signature: const bf16 x[rows][512], const bf16 w[512], bf16 y[rows][512], ...
    let: {rows: grid.x}
    reference: rmsnorm
    bind: {eps: 1e-6}
"""


def _compiled_graphs():
    """What torch.compile keeps in CUDA graphs, with a kernel that loses the end of each row, and without one."""
    for how, what in (("compile", "torch.compile's reduce-overhead"), ("generate", "generate() with a static cache")):
        for hook in ("entry", "cupti"):
            yield Case("graphed_%s_%s" % (how, hook), "%s, 1,000 replays: quiet" % what,
                       ["{python}", "{here}/jit/compiled_graphs.py", how], registry_text=_GRAPH_NORM, front_door=(), ends=None,
                       env={"CUVET_HOOK": hook, "CUVET_SAMPLE": "0.05"}, checked={"graph_norm": 100})
        yield Case("graphed_%s_loses" % how, "%s: a kernel that loses the end of each row is named" % what,
                   ["{python}", "{here}/jit/compiled_graphs.py", how, "loses"], registry_text=_GRAPH_NORM, front_door=(), ends=None,
                   env={"CUVET_SAMPLE": "0.05"}, findings=("graph_norm",), checked={"graph_norm": 100})


PROGRAMS = [
    Case("static_cudart", "<<<>>> on the static runtime; a tail-mask mutant of rmsnorm is named",
         ["{build}/static_cudart"], "{here}/programs/static_cudart.yaml", findings=("~rmsnorm_tail",),
         checked={"~rmsnorm_good": 5, "~rmsnorm_tail": 5, "~softmax_of": 15}),
    Case("driver_api", "every way to launch and every kind of argument; mutants are named",
         ["{build}/driver_api", "{build}/driver_kernels.fatbin"], "{here}/driver/driver_api.yaml",
         findings=("by_value_bad", "strided_bad", "residual_bad", "accumulate_bad"),
         launch_errors=("fails",), reasons={"launch failed": 1},
         checked=dict(_ways(), in_place=3, by_value=3, by_value_bad=3, strided=3, strided_bad=3,
                      residual=3, residual_bad=3, accumulate=3, accumulate_bad=3, nullable=2,
                      layernorm_stats=4, fails=1)),
    Case("front_door", "`cuvet run -c FILE -o FOLDER -- PROGRAM`", ["{build}/simple"],
         "{here}/programs/simple.yaml", front_door=(), checked={"simple_rmsnorm": 12}),
    Case("front_door_strict", "`cuvet run --strict`: 3 when a launch does not match",
         ["{build}/static_cudart"], "{here}/programs/static_cudart.yaml", front_door=("--strict",), ran_code=3,
         findings=("~rmsnorm_tail",)),
    Case("front_door_code", "`cuvet run` ends with the program's own code", ["{build}/ending", "exit"],
         "{here}/programs/ending.yaml", front_door=("--strict",), code=7),
    Case("front_door_signal", "`cuvet run` ends by the program's own signal", ["{build}/ending", "abort"],
         "{here}/programs/ending.yaml", front_door=(), code=-6, ends=None, at_least=0),
    Case("unsampled", "p = 0 and no first launches: nothing is checked, everything counted",
         ["{build}/simple"], "{here}/programs/simple.yaml", env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0", "CUVET_OUTLIER": "off"},
         at_least=0, reasons={"not sampled": 12}),
    Case("unsampled_ordinary", "the same, but each launch is looked at by the outlier gate",
         ["{build}/simple"], "{here}/programs/simple.yaml", env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0"},
         at_least=0, reasons={"ordinary": 12}),
    # Without a budget all launches are probed, faster than the collector ends them: a long queue.
    Case("outliers", "kernels wrong on 1 launch in 500, of unusual input, are found without sampling",
         ["{build}/outliers"], "{here}/programs/outliers.yaml", alone=True,
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0", "CUVET_QUEUE": "1024"},
         findings=("outlier_norm_narrow", "outlier_scale_narrow"), reasons={"ordinary": 10000},
         checked={"outlier_norm": 4}),
    Case("outlier_replays", "a kernel wrong in 1 replay in 60, of unusual input, is found in a CUDA graph without sampling",
         ["{build}/outlier", "{build}/outlier_kernels.fatbin", "norm_narrow", "graph"], "{here}/../scenario/outlier/registry.yaml",
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0"}, findings=("norm_narrow",), reasons={"ordinary": 50},
         checked={"norm_narrow": 1}),
    Case("outlier_replays_in_place", "the same of one that overwrites its input",
         ["{build}/outlier", "{build}/outlier_kernels.fatbin", "update_narrow", "graph"], "{here}/../scenario/outlier/registry.yaml",
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0"}, findings=("update_narrow",), reasons={"ordinary": 50},
         checked={"update_narrow": 1}),
    Case("outlier_replays_quiet", "the same of a right kernel",
         ["{build}/outlier", "{build}/outlier_kernels.fatbin", "norm_right", "graph"], "{here}/../scenario/outlier/registry.yaml",
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0"}, reasons={"ordinary": 50}, checked={"norm_right": 1}),
    # 128 MB and more each: what is checked of them fits 64 MB many times.
    Case("subsets", "launches larger than the memory are checked in part; the last row is named",
         ["{build}/subsets"], "{here}/programs/subsets.yaml", alone=True, env={"CUVET_MEMORY": "64M"},
         findings=("subset_norm_tails", "subset_norm_last", "subset_scale_tail"),
         checked={"subset_norm": 16, "subset_norm_tails": 16, "subset_norm_last": 16, "subset_scale": 16,
                  "subset_scale_tail": 16},
         says=(r"subset rows \d+ of 16384", r"subset cols \d+ of 33000001", r"y\[16383\]\[1020\]",
               r"x\[33000000\]")),
    Case("touched", "rows of a table of 1.2 GB and of a cache without a length, by index; wrong ones are named",
         ["{build}/touched"], "{here}/programs/touched.yaml", alone=True, env={"CUVET_MEMORY": "64M"},
         findings=("touched_look32_next", "touched_append_short"),
         checked={"touched_look32": 16, "touched_look32_next": 16, "touched_look64": 16, "touched_append": 16,
                  "touched_append_short": 16},
         says=(r"y\[2047\]\[\d+\]", r"cache\[slots\[77\]\]\[0\]\[7\]\[127\]")),
    Case("threads16", "16 threads on 16 streams; the mutant of one of them is named",
         ["{build}/threads16"], "{here}/programs/threads16.yaml", findings=("t16_rmsnorm_tail",), alone=True,
         env={"CUVET_QUEUE": "1024"}, checked={"t16_rmsnorm": 100, "t16_rmsnorm_tail": 2, "t16_softmax": 100, "t16_residual": 100}),
    # 1,440 launches or so are sampled within a moment: a queue, memory and time for all of them.
    Case("threads16_sampled", "the same at p = 0.05", ["{build}/threads16"], "{here}/programs/threads16.yaml",
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_QUEUE": "4096", "CUVET_EXIT_WAIT": "30000"},
         findings=("t16_rmsnorm_tail",), reasons={"not sampled": 20000}, alone=True,
         checked={"t16_rmsnorm": 350, "t16_rmsnorm_tail": 10, "t16_softmax": 350, "t16_residual": 350}),
    Case("threads16_budget", "the same under a budget that it uses up", ["{build}/threads16"],
         "{here}/programs/threads16.yaml", env={"CUVET_BUDGET": "0.5%"}, reasons={"budget": 1000}, alone=True,
         findings=("t16_rmsnorm_tail",), checked={"t16_rmsnorm": 2, "t16_softmax": 2}),
    Case("two_gpus", "one process, two devices", ["{build}/two_gpus"], "{here}/programs/two_gpus.yaml", code=None,
         findings=("gpu_rmsnorm_tail",), checked={"gpu_rmsnorm": 50, "gpu_rmsnorm_tail": 25}),
    Case("controls", "100,000 checked launches of correct kernels: no finding",
         ["{build}/controls", "1000", "5000"], "{here}/programs/controls.yaml", alone=True, at_least=100000,
         bare=["{build}/controls", "1000", "0"],
         checked={"~ctl_%s_%s" % (op, dtype): 1000 for dtype in ("f32", "f16", "bf16")
                  for op in ("rmsnorm", "layernorm", "softmax", "row_sum", "silu", "gelu_tanh",
                             "swiglu", "add", "matmul")}),
    Case("ref_parity", "every reference by every kernel of it, on the GPU and on the host: the same",
         ["{build}/ref_parity", "{gen}/refs.fatbin", "{gen}/refs_wide.fatbin"], alone=True, once=True),
    Case("ref_approx", "the GPU's approximate exp and reciprocal are as good as the references count on",
         ["{build}/ref_approx"], once=True),
    Case("hooks", "CUPTI and the entry points count the same launches; torch.profiler keeps its events",
         ["{python}", "{here}/hooks/hooks.py", "{cuvet}", "{build}"], once=True, alone=True),
    Case("hooks_libraries", "the same of cuDNN and, where there are two GPUs, NCCL",
         ["{python}", "{here}/hooks/hooks.py", "{cuvet}", "{build}", "libraries"], once=True, alone=True),
    Case("hooks_ways", "at the entry points: every way to launch and every kind of argument; mutants are named",
         ["{build}/driver_api", "{build}/driver_kernels.fatbin"], "{here}/driver/driver_api.yaml", front_door=(),
         findings=("by_value_bad", "strided_bad", "residual_bad", "accumulate_bad"),
         launch_errors=("fails",), reasons={"launch failed": 1}, checked=dict(_ways(), in_place=3)),
    Case("module_images", "of modules with one symbol each bundle has its launch's",
         ["{python}", "{here}/replay/module_images.py", "{build}/images", "{build}/replayed_kernels.fatbin", "{lib}"], once=True),
    Case("module_values", "a kernel that reads variables of its module, which the program sets, is replayed",
         ["{python}", "{here}/replay/module_values.py", "{build}/module_values", "{build}/variables",
          "{build}/variables_kernels.fatbin", "{lib}"], once=True),
    Case("replayed", "findings of a program: replayed byte for byte, minimised, and probed",
         ["{python}", "{here}/replay/replayed.py", "{build}/replayed", "{build}/replayed_kernels.fatbin",
          "{here}/../scenario/replayed/registry.yaml", "{lib}"], once=True),
    Case("replayed_graph", "the same of kernel nodes of a CUDA graph",
         ["{python}", "{here}/replay/replayed.py", "{build}/replayed", "{build}/replayed_kernels.fatbin",
          "{here}/../scenario/replayed/registry.yaml", "{lib}", "graph"], once=True),
]

EDITED = _edited("nodes", "a graph of every kind of node, each with new parameters before each launch, nodes switched",
                 checked={"norm_right": 60, "norm_wrong": 30, "update": 20}, reasons={"not sampled": 3000})
EDITED += _edited("child", "a child graph with new parameters as a whole before each launch",
                  checked={"norm_right": 60, "norm_wrong": 30, "update": 20}, reasons={"not sampled": 3000})
EDITED += _edited("captures", "1,000 captures, each for an update, or instantiated where the shape differs",
                  checked={"norm_right": 20, "norm_wrong": 10}, reasons={"captured": 100, "not sampled": 4000})
EDITED += _edited("updatable", "a node that kernels may change: a bucket of its own", right=False, at_least=0, findings=(),
                  reasons={"device updates": 4000})
EDITED += _edited("condition", "kernels in bodies of conditional nodes: a bucket that says why", right=False, at_least=0,
                  findings=(), reasons={"no twin": 3000})
EDITED += [dataclasses.replace(case, name=case.name + "_entry", shows="the same through wrapped entry points",
                               front_door=("--no-tables",), env=dict(case.env, CUVET_HOOK="entry"))
           for case in EDITED if case.name in ("edited_nodes", "edited_child", "edited_captures", "edited_condition")]

FORKS = [
    Case("fork_before", "fork before CUDA, the child without CUDA", ["{build}/forks", "before"],
         "{here}/programs/forks.yaml", checked={"fork_rmsnorm": 50}),
    Case("fork_both", "fork before CUDA, both work: two journals", ["{build}/forks", "both"],
         "{here}/programs/forks.yaml", ends=2, checked={"fork_rmsnorm": 100}),
    Case("fork_after", "fork without exec after CUDA: the child ends quietly, the parent goes on",
         ["{build}/forks", "after"], "{here}/programs/forks.yaml", checked={"fork_rmsnorm": 100}),
    Case("fork_exec", "fork and exec of another CUDA program", ["{build}/forks", "exec"],
         "{here}/programs/forks.yaml", ends=2, checked={"fork_rmsnorm": 150}),
]

ENDINGS = [
    Case("return_inflight", "return from main with launches under way", ["{build}/ending", "return"],
         "{here}/programs/ending.yaml", code=7, checked={"end_rmsnorm": 10}),
    Case("exit_inflight", "exit() with launches under way", ["{build}/ending", "exit"],
         "{here}/programs/ending.yaml", code=7, checked={"end_rmsnorm": 10}),
    Case("exit_no_wait", "the same with CUVET_EXIT_WAIT=0: the rest counts as 'exit'",
         ["{build}/ending", "exit"], "{here}/programs/ending.yaml", code=7, env={"CUVET_EXIT_WAIT": "0"},
         checked={"end_rmsnorm": 1}),
    Case("exit_thread", "exit() while another thread launches", ["{build}/ending", "thread"],
         "{here}/programs/ending.yaml", races=(7, -11), slack=1000, ends=None, at_least=0),
    Case("exit_underscore", "_exit() with launches under way", ["{build}/ending", "underscore"],
         "{here}/programs/ending.yaml", code=7, ends=None, at_least=0),
    Case("abort", "abort() with launches under way", ["{build}/ending", "abort"],
         "{here}/programs/ending.yaml", code=-6, ends=None, at_least=0),
    Case("app_error", "an illegal address of the program's own: its error, its exit code",
         ["{build}/ending", "illegal"], "{here}/programs/ending.yaml", code=4, at_least=0),
]

PYTHON = [
    Case("triton_bf16", "unmodified Triton in bf16: each mutant named, each control quiet",
         ["{python}", "{here}/jit/triton_kernels.py", "bf16"], "{here}/jit/triton_bf16.yaml",
         findings=("rms_norm_bf16_acc", "rms_norm_wrong_eps", "softmax_tail_zero", "swiglu_wrong_alpha"),
         softgpu=True, checked={"rms_norm_fwd": 6, "softmax_fwd": 6, "swiglu_fwd": 6}),
    Case("triton_f32", "the same in f32", ["{python}", "{here}/jit/triton_kernels.py", "f32"],
         "{here}/jit/triton_f32.yaml",
         findings=("rms_norm_bf16_acc", "rms_norm_wrong_eps", "softmax_tail_zero", "swiglu_wrong_alpha"),
         softgpu=True, checked={"rms_norm_fwd": 6, "softmax_fwd": 6, "swiglu_fwd": 6}),
    Case("torch_native", "PyTorch's own layer_norm and softmax kernels, by pattern: quiet",
         ["{python}", "{here}/pytorch/torch_native.py"], "{here}/pytorch/torch_native.yaml",
         checked={"~vectorized_layer_norm_kernel": 12, "~softmax_warp_forward": 6,
                  "~cunn_SoftMaxForward": 6}),
    Case("torch_operations", "PyTorch's pointwise operations, reductions and lists of tensors, by the shipped tables: quiet",
         ["{python}", "{here}/pytorch/torch_operations.py"], "{here}/pytorch/torch_operations.yaml", alone=True, at_least=500,
         checked={"~vectorized_elementwise_kernel": 200, "~unrolled_elementwise_kernel": 50, "~elementwise_kernel<": 100,
                  "~reduce_kernel": 50, "~multi_tensor_apply_kernel": 20, "~elementwise_kernel_with_index": 19}),
    Case("torch_images", "PyTorch's pooling, resizing and group norm, contiguous and channels last: quiet",
         ["{python}", "{here}/pytorch/torch_images.py"], "{here}/pytorch/torch_images.yaml", alone=True, at_least=700,
         checked={"~max_pool": 20, "~avg_pool2d": 30, "~adaptive": 40, "~upsample": 100, "~Compute": 20}),
    Case("torch_indexing", "PyTorch's gathering, scattering and their sums, in five dtypes: quiet",
         ["{python}", "{here}/pytorch/torch_indexing.py"], "{here}/pytorch/torch_images.yaml", alone=True, at_least=500,
         checked={"~index_elementwise_kernel": 20, "~_scatter_gather": 20}),
    Case("torch_sorting", "PyTorch's top-k, sorts of short rows and gradients of embeddings of many indices: quiet",
         ["{python}", "{here}/pytorch/torch_sorting.py"], "{here}/pytorch/torch_images.yaml", alone=True, at_least=500,
         checked={"~sbtopk::gatherTopK": 60, "~mbtopk::gatherTopK": 20, "~SortKVInPlace": 100, "~compute_grad_weight": 4,
                  "~sum_and_scatter": 3}),
    Case("torch_more", "PyTorch's indexing by several indices, scans, ranks, recurrent cells, bags, padding, volumes, in six dtypes: quiet",
         ["{python}", "{here}/pytorch/torch_more.py"], "{here}/pytorch/torch_images.yaml", alone=True, at_least=2000,
         checked={"~gpu_index_kernel": 100, "~cuda_take_put_kernel": 15, "~flip_kernel_impl": 80, "~launch_masked_scatter_kernel": 6,
                  "~triu_tril_kernel": 100, "~tensor_kernel_scan": 100, "~gatherMedian": 30, "~gatherKthValue": 15, "~compute_mode": 6,
                  "~searchsorted_cuda_kernel": 30, "~kernelHistogram1D": 16, "~compute_cuda_kernel": 2, "~lstm_cell": 30, "~gru_cell": 20,
                  "~EmbeddingBag": 20, "~compute_grad_weight_bags": 10, "~nll_loss2d": 60, "~weight_norm": 15, "~im2col_kernel": 20,
                  "~col2im": 20, "~reflection_pad": 30, "~replication_pad": 30, "~pool3d": 80, "~max_unpooling2d": 6,
                  "~grid_sampler_2d_kernel": 50, "~elementwise_kernel_with_index": 6}),
    Case("torch_random", "PyTorch's random numbers and dropout, in all dtypes, with gaps, and in a graph: quiet",
         ["{python}", "{here}/pytorch/torch_random.py"], "{here}/pytorch/torch_random.yaml", alone=True, at_least=1000,
         checked={"~uniform_kernel": 80, "~cuda::normal_kernel": 60, "~log_normal_kernel": 25, "~exponential_kernel": 50, "~cauchy_kernel": 50,
                  "~geometric_kernel": 50, "~bernoulli_kernel": 50, "~random_kernel": 50, "~random_from_to_kernel": 100,
                  "~random_full_64_bits_range_kernel": 1, "~bernoulli_tensor_cuda": 20, "~fused_dropout_kernel": 30}),
    Case("torch_avg_pool", "a wrong gradient that PyTorch 2.11 ships is named: average pooling with padding, channels last",
         ["{python}", "{here}/pytorch/torch_avg_pool.py"], "{here}/pytorch/torch_images.yaml",
         findings=("~avg_pool2d_backward_out_cuda_frame_nhwc",), checked={"~avg_pool2d_backward_out_cuda_frame<": 1}),
    Case("torch_mutants", "wrong functors in PyTorch's templates, under its symbols: an elementwise kernel, a sum, a list, normal numbers are named",
         ["{python}", "{here}/pytorch/torch_mutants.py", "{tmp}"],
         findings=("~CUDAFunctor_add", "~sum_functor", "~Sqrt", "~cuda::normal_kernel"),
         checked={"~BinaryFunctor": 3, "~CUDAFunctor_add": 3, "~cuda::uniform_kernel": 3}),
    Case("inductor", "torch.compile's kernels by the graph fragments of Inductor's own files: quiet",
         ["{python}", "{here}/jit/inductor.py", "{lib}"], once=True),
    *(Case("inductor_mutant_" + operation, "Inductor writes wrong code for %s, the fragment is right: its kernels are named" % operation,
           ["{python}", "{here}/jit/inductor.py", "{lib}", operation], once=True) for operation in ("rsqrt", "erf")),
    Case("fuzz_kernels", "`cuvet fuzz` on Triton's cache: a right kernel is quiet, a wrong one is found",
         ["{python}", "{here}/jit/fuzz_kernels.py", "{cuvet}"], once=True),
    Case("triton_tutorials", "kernels such as Triton's tutorials teach, in many shapes: quiet",
         ["{python}", "{here}/jit/triton_tutorials.py"], "{here}/jit/triton_tutorials.yaml", at_least=240,
         softgpu=True,
         checked={"tut_add": 32, "tut_softmax": 32, "tut_matmul": 36, "tut_matmul_leaky": 12, "tut_dropout": 16,
                  "tut_dropout_seeded": 16, "tut_layer_norm": 24, "tut_layer_norm_dx": 24, "tut_col_sum": 48}),
    Case("cublas", "cuBLAS's products in bf16, f16, f32, tf32, fp8, by kernels that copy them; tf32 as f32 is found",
         ["{python}", "{here}/library/cublas.py"], "{here}/library/cublas.yaml", alone=True, findings=("product_undeclared",),
         env={"CUVET_TABLES": "off"},
         checked=dict({"product_" + name: 9 for name in ("bf16", "f16", "f32", "tf32")},
                      **{"product_hidden_" + name: 4 for name in ("bf16", "f16")},
                      **{"product_fp8_" + name: 12 for name in ("bf16", "bf16_fast", "f32", "f32_fast")})),
    Case("lt_names", "what the real cublasLt's descriptors say: each of these calls, which are refused, has an entry",
         ["{build}/lt_names"], _BLAS, at_least=0, reasons={"launch failed": 12}),
    Case("flips", "one bit of a product flips: in which share it is found, by the bit; none is found where none flips",
         ["{build}/flips", "1024", "32"], "{config}/calls/cublas.yaml", findings=None, env={"CUVET_PROFILE": "sdc"},
         checked={"~cublasGemmEx": 3000}, alone=True),
    Case("lt_replayed", "the finding of lt_tail is replayed by the library itself: the same bytes; skipped where it is right",
         ["{python}", "{here}/replay/replayed_call.py", "{build}/lt_tail", "{lib}"], once=True),
    Case("lt_tail", "a library that loses the last terms of K = 11528 is found; skipped where it is right",
         ["{build}/lt_tail", "11528", "77"], "{config}/calls/cublas.yaml", findings=("~cublasLtMatmul",),
         checked={"~cublasLtMatmul": 1}),
    Case("lt_whole", "the same call with K = 11520: quiet",
         ["{build}/lt_tail", "11520"], "{config}/calls/cublas.yaml", checked={"~cublasLtMatmul": 1}),
    Case("lt_tail_graph", "the wrong call in a CUDA graph is found at its first launch; skipped where it is right",
         ["{build}/lt_tail", "11528", "77", "graph"], "{config}/calls/cublas.yaml", findings=("~cublasLtMatmul",),
         checked={"~cublasLtMatmul": 1}),
    Case("lt_whole_graph", "the right call in a CUDA graph: quiet",
         ["{build}/lt_tail", "11520", "0", "graph"], "{config}/calls/cublas.yaml", checked={"~cublasLtMatmul": 1}),
    Case("torch_products", "PyTorch's products forward and backward in all dtypes, by the calls of cuBLAS: quiet",
         ["{python}", "{here}/pytorch/torch_products.py"], _BLAS, alone=True,
         checked={"~cublasGemmEx": 50, "~cublasSgemm": 10, "~cublasLtMatmul": 10}),
    Case("torch_cudnn", "PyTorch's convolutions, batch norm and attention, by the calls of cuDNN: quiet",
         ["{python}", "{here}/pytorch/torch_cudnn.py"], "{config}/calls/cudnn.yaml", alone=True,
         checked={"~cudnnConvolutionForward": 20, "~cudnnConvolutionBackward": 40,
                  "~cudnnBatchNormalization": 4, "~cudnnAttentionForward": 8, "~cudnnAttentionBackward": 6}),
    Case("cudnn_nan", "NaN in cuDNN's gradient of attention over 192 keys is found; skipped where the library is right",
         ["{python}", "{here}/pytorch/cudnn_nan.py", "192", "77"], "{config}/calls/cudnn.yaml", alone=True,
         findings=("~cudnnAttentionBackward",), checked={"~cudnnAttentionBackward": 2}),
    Case("cudnn_nan_single", "the same of a single query",
         ["{python}", "{here}/pytorch/cudnn_nan.py", "192", "77", "1"], "{config}/calls/cudnn.yaml", alone=True,
         findings=("~cudnnAttentionBackward",), checked={"~cudnnAttentionBackward": 2}),
    Case("cudnn_whole", "the same over 256 keys: quiet",
         ["{python}", "{here}/pytorch/cudnn_nan.py", "256"], "{config}/calls/cudnn.yaml", alone=True,
         checked={"~cudnnAttentionBackward": 2}),
    Case("triton_attention", "attention in tiles, in Triton: quiet; without scaling, mask or f32 it is named",
         ["{python}", "{here}/jit/triton_attention.py"], "{here}/jit/triton_attention.yaml", alone=True,
         findings=("att_unscaled", "att_blurred", "att_narrow"), checked={"att_right": 24, "att_unscaled": 2}),
    Case("attention", "PyTorch's FlashAttention kernels, whole and split, by their struct of parameters: quiet",
         ["{python}", "{here}/pytorch/attention.py"], "{config}/kernels/flashattention.yaml", alone=True,
         checked={"~flash_fwd_kernel": 24, "~flash_fwd_splitkv_combine_kernel": 4}),
    Case("attention_gradients", "gradients of PyTorch's FlashAttention and memory-efficient attention: quiet",
         ["{python}", "{here}/pytorch/attention_gradients.py"], "{config}/kernels/pytorch_attention.yaml", alone=True,
         checked={"~flash_bwd_dq_dk_dv_loop": 10, "~flash_bwd_convert_dq": 10, "~fmha_cutlassB": 15, "~fmha_cutlassF": 15}),
    Case("attention_dropout", "PyTorch's FlashAttention with dropout and its gradients, eagerly and in a graph: quiet",
         ["{python}", "{here}/pytorch/attention_dropout.py"], "{config}/kernels/pytorch_attention.yaml", alone=True,
         checked={"~flash_fwd_kernel": 40, "~flash_bwd_dq_dk_dv_loop": 40, "~flash_bwd_convert_dq": 40}),
    Case("attention_dropped", "the same by an entry with the random numbers of another batch: found",
         ["{python}", "{here}/pytorch/attention_dropout.py"], alone=True,
         registry_text=_changed("pytorch_attention.yaml", "first: part}", "first: part + 1}"),
         findings=("~flash_fwd_kernel", "~flash_bwd_dq_dk_dv_loop", "~flash_bwd_convert_dq")),
    # What is right is found wrong by an entry without the mask: so the mask is read.
    Case("attention_unmasked", "the same by an entry that knows of no causal mask: found",
         ["{python}", "{here}/pytorch/attention.py"], alone=True, registry_text=_unmasked(),
         findings=("~flash_fwd_kernel",), checked={"~flash_fwd_kernel": 24}),
    Case("profiler", "torch.profiler in the same process: the same tensors, no crash",
         ["{python}", "{here}/pytorch/profiler.py"], "{here}/pytorch/torch_native.yaml"),
    Case("traced", "two ranks under a trace: report, trace and diff on what they left; the price of a traced launch",
         ["{python}", "{here}/jit/traced.py", "{lib}", "{config}"], alone=True, once=True),
    Case("steered", "`cuvet ctl` stops, starts, samples and asks a loop of PyTorch and Triton",
         ["{python}", "{here}/jit/steered.py", "{lib}"], "{here}/jit/triton_bf16.yaml",
         env={"CUVET_OUTLIER": "off", "CUVET_FIRST": "0"}, reasons={"off": 10, "not sampled": 10},
         checked={"rms_norm_fwd": 10, "softmax_fwd": 10}),
    Case("cudagraph", "torch.cuda.CUDAGraph: a wrong Triton kernel among right ones is named in 1,000 replays, output the same",
         ["{python}", "{here}/jit/cudagraph.py", "1000"], "{here}/jit/triton_bf16.yaml",
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_TABLES": "off"}, findings=("rms_norm_wrong_eps",),
         reasons={"not sampled": 30000},
         checked={"rms_norm_fwd": 500, "softmax_fwd": 500, "rms_norm_wrong_eps": 20}),
    Case("cudagraph_entry", "the same through wrapped entry points",
         ["{python}", "{here}/jit/cudagraph.py", "1000"], "{here}/jit/triton_bf16.yaml", front_door=("--no-tables",),
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_HOOK": "entry"},
         findings=("rms_norm_wrong_eps",), checked={"rms_norm_fwd": 500, "rms_norm_wrong_eps": 20}),
    Case("cudagraph_probed", "the same by outlier probes alone, within the default budget: output the same",
         ["{python}", "{here}/jit/cudagraph.py", "1000"], "{here}/jit/triton_bf16.yaml", at_least=0, findings=None,
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0", "CUVET_BUDGET": "5%", "CUVET_TABLES": "off"},
         reasons={"ordinary": 50, "budget": 20000}),
    Case("cudagraph_passed", "the same at p = 0: no twin, all counted",
         ["{python}", "{here}/jit/cudagraph.py", "1000"], "{here}/jit/triton_bf16.yaml",
         env={"CUVET_SAMPLE": "0", "CUVET_FIRST": "0", "CUVET_OUTLIER": "off"}, at_least=0,
         reasons={"not sampled": 40000}),
    *_compiled_graphs(),
    Case("jax_graph", "a JAX step in a graph that XLA builds: a kernel that subtracts where it should add is named",
         ["{python}", "{here}/jit/jax_graph.py", "1000"], "{here}/jit/jax_graph.yaml", alone=True,
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_TABLES": "off"}, findings=("~subtract",),
         checked={"~add": 20, "~subtract": 20}),
    Case("jax_graph_entry", "the same through wrapped entry points",
         ["{python}", "{here}/jit/jax_graph.py", "1000"], "{here}/jit/jax_graph.yaml", alone=True, front_door=("--no-tables",),
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off", "CUVET_HOOK": "entry"}, findings=("~subtract",),
         checked={"~add": 20, "~subtract": 20}),
    Case("jax_products", "its product by the calls of cuBLAS, right kernels alone: quiet",
         ["{python}", "{here}/jit/jax_graph.py", "1000"], "{config}/calls/cublas.yaml", alone=True, front_door=(),
         env={"CUVET_SAMPLE": "0.05", "CUVET_OUTLIER": "off"}, checked={"~cublas": 20}),
    Case("jax_added", "products that XLA adds to a matrix of 16 bits in place, some of which round twice: quiet",
         ["{python}", "{here}/jit/jax_added.py"], "{config}/calls/cublas.yaml", alone=True, front_door=(),
         checked={"~beta": 80}),
    Case("decode_quiet", "a decode loop over pages in a graph, 10,000 steps with contracts: quiet",
         ["{python}", "{here}/jit/decode.py", "graph", "none", "10000"], "{here}/jit/decode.yaml",
         checked={"append_paged": 10, "attend_paged": 10}),
    Case("decode_eager_quiet", "the same without a graph",
         ["{python}", "{here}/jit/decode.py", "eager", "none", "10000"], "{here}/jit/decode.yaml",
         checked={"append_paged": 10, "attend_paged": 10}),
    Case("decode_stale", "slots that are not advanced any more",
         ["{python}", "{here}/jit/decode.py", "graph", "stale", "2000"], "{here}/jit/decode.yaml",
         findings=("append_paged", "attend_paged"), env={"CUVET_SAMPLE": "0.05", "CUVET_BUDGET": "off"}),
    Case("decode_pads", "padding slots that are written",
         ["{python}", "{here}/jit/decode.py", "eager", "pads", "2000"], "{here}/jit/decode.yaml",
         findings=("append_paged",), env={"CUVET_SAMPLE": "0.05", "CUVET_BUDGET": "off"}),
    Case("decode_direct", "a position by value in a graph",
         ["{python}", "{here}/jit/decode.py", "graph", "none", "300", "direct"], "{here}/jit/decode.yaml",
         findings=("append_at",)),
    *_planted(),
    Case("python_plain", "a Python that never touches CUDA",
         ["{python}", "-c", "print(sum(range(1000)))"], "{here}/programs/simple.yaml", ends=None, at_least=0,
         most_lines=0),
]

PASSIVE = [
    Case("injection_set", "CUDA_INJECTION64_PATH belongs to another tool: passive, and says so",
         ["{build}/simple"], "{here}/programs/simple.yaml", ends=None, at_least=0,
         env={"CUDA_INJECTION64_PATH": "{build}/other_injection.so"}, says=("CUDA_INJECTION64_PATH",)),
    Case("no_cupti", "no libcupti where CUVET_CUPTI says: passive, and says so", ["{build}/simple"],
         "{here}/programs/simple.yaml", ends=None, at_least=0, says=("(?i)cupti",),
         env={"CUVET_CUPTI": "/nonexistent/libcupti.so"}),
    Case("disabled", "CUVET_DISABLE=1", ["{build}/simple"], "{here}/programs/simple.yaml", ends=None, at_least=0,
         env={"CUVET_DISABLE": "1"}, most_lines=1),
    Case("mode_off", "CUVET_MODE=off", ["{build}/simple"], "{here}/programs/simple.yaml", ends=None, at_least=0,
         env={"CUVET_MODE": "off"}),
]

_SIGNATURE = ("const f32 x[rows][cols], const f32 w[cols], f32 y[rows][cols], i32 rows, i32 cols, "
              "f32 eps")


def _entry(signature=_SIGNATURE, reference="rmsnorm", more=""):
    return ("version: 1\nkernels:\n  - kernel: simple_rmsnorm\n    signature: \"%s\"\n"
            "    reference: %s\n%s" % (signature, reference, more))


def _text(name, text, *says, **fields):
    """A registry that is wrong as a text: said with file, line and column."""
    fields.setdefault("at_least", 0)
    return Case("bad_input/" + name, "a registry with " + name.replace("_", " "), ["{build}/simple"],
                registry_text=text, says=(r"yaml:\d+:\d+: ",) + says, most_lines=40, ends=None,
                findings=(), **fields)


def _launch(name, reason, *says, mode="plain", text=None, **fields):
    """A registry or a program that makes launches uncheckable for `reason`."""
    fields.setdefault("at_least", 0)
    return Case("bad_input/" + name, "counted as '%s', and said" % reason, ["{build}/simple", mode],
                registry_text=text or _entry(), reasons={reason: 1}, says=says, most_lines=40,
                findings=fields.pop("findings", ()), **fields)


def _environment(name, env, *says, registry="{here}/programs/simple.yaml", **fields):
    fields.setdefault("at_least", 0)
    return Case("bad_input/" + name, "environment: " + name.replace("_", " "), ["{build}/simple"],
                registry, env=env, says=says, most_lines=40, ends=fields.pop("ends", None), **fields)


BAD_INPUT = [
    _text("malformed_yaml", "version: 1\nkernels:\n  - kernel: [simple_rmsnorm\n"),
    _text("tabs_and_garbage", "version: 1\n\tkernels: {{{\n"),
    _text("an_unknown_key", _entry(more="    refrence: rmsnorm\n"), "refrence"),
    _text("an_unknown_top_key", "version: 1\nkernel: []\n", "kernel"),
    _text("no_version", "kernels: []\n", "version"),
    _text("another_version", "version: 99\nkernels: []\n", "99"),
    _text("a_wrong_type", "version: 1\nkernels: 7\n", "kernels"),
    _text("an_unknown_reference", _entry(reference="rmsnrom"), "rmsnrom"),
    _text("an_unknown_dtype", _entry(_SIGNATURE.replace("f32 w", "f31 w")), "f31"),
    _text("an_unknown_name", _entry(_SIGNATURE.replace("w[cols]", "w[columns]")), "columns"),
    _text("a_broken_signature", _entry("const f32 x[rows][cols, i32 rows"), "signature"),
    _text("a_bad_sample", _entry(more="    sample: 2\n"), "sample"),
    _text("a_bad_pattern", _entry().replace("simple_rmsnorm", "'/simple(/'")),
    _text("an_unbound_formal", _entry("const f32 a[rows][cols], const f32 w[cols], f32 y[rows][cols], "
                                      "i32 rows, i32 cols, f32 eps"), r"\bx\b"),
    Case("bad_input/empty_file", "an empty registry", ["{build}/simple"], registry_text="", ends=None,
         at_least=0, most_lines=40),
    Case("bad_input/one_bad_entry", "a bad entry is left out, the others stand", ["{build}/simple"],
         registry_text=_entry() + "  - kernel: other\n    refrence: x\n",
         says=(r"yaml:\d+:\d+: ", "refrence"), checked={"simple_rmsnorm": 12}, most_lines=40),

    _launch("too_few_parameters", "layout", "simple_rmsnorm",
            text=_entry("const f32 x[4][8], const f32 w[8], f32 y[4][8], i32 rows, f32 eps")),
    _launch("wrong_sizes", "layout", "simple_rmsnorm",
            text=_entry(_SIGNATURE.replace("i32 cols", "i64 cols"))),
    _launch("overflow", "shape", "(?i)overflow",
            text=_entry(_SIGNATURE.replace("x[rows]", "x[rows * 4611686018427387904]"))),
    _launch("division_by_zero", "shape", "(?i)zero",
            text=_entry(_SIGNATURE.replace("x[rows]", "x[rows / (cols - cols)]"))),
    _launch("negative_size", "shape", text=_entry(_SIGNATURE.replace("x[rows]", "x[0 - rows]"))),
    _launch("shapes_disagree", "shape", text=_entry(_SIGNATURE.replace("w[cols]", "w[cols + 1]"))),
    _launch("outside_allocation", "extent", "(?i)allocation",
            text=_entry(_SIGNATURE.replace("x[rows]", "x[rows:cols * 1000000]"))),
    _launch("null_pointer", "null pointer", mode="null"),
    _launch("empty_launch", "empty", mode="empty"),
    _launch("larger_than_memory", "too large", mode="big", env={"CUVET_MEMORY": "1M", "CUVET_SUBSET": "off"}),
    _launch("arena_full", "arena full", mode="burst", env={"CUVET_MEMORY": "2M"}, at_least=1),
    _launch("queue_full", "queue full", mode="burst", env={"CUVET_QUEUE": "2"}, at_least=1),

    _environment("unknown_variable", {"CUVET_SAMPEL": "1"}, "CUVET_SAMPEL", "CUVET_SAMPLE", ends=1,
                 checked={"simple_rmsnorm": 12}),
    _environment("bad_number", {"CUVET_SAMPLE": "lots"}, "CUVET_SAMPLE", ends=1),
    _environment("bad_size", {"CUVET_MEMORY": "12Q"}, "CUVET_MEMORY", ends=1,
                 checked={"simple_rmsnorm": 12}),
    _environment("absurd_memory", {"CUVET_MEMORY": "1000000G"}, "(?i)memory"),
    _environment("missing_file", {}, "nothing_here.yaml", registry="{tmp}/nothing_here.yaml"),
    _environment("folder_as_file", {}, "tests/gpu", registry="{here}"),
    _environment("one_file_of_two_missing", {"CUVET_CONFIG": "{tmp}/nothing_here.yaml:{here}/programs/simple.yaml"},
                 "nothing_here.yaml", ends=1, checked={"simple_rmsnorm": 12}),
    _environment("unwritable_report", {"CUVET_REPORT": "/proc/cuvet/report"}, "/proc/cuvet"),
    _environment("report_below_a_file", {"CUVET_REPORT": "{here}/programs/simple.yaml/report"}, "simple.yaml/report"),
    _environment("tiny_quota", {"CUVET_QUOTA": "5000", "CUVET_CONFIG": "{here}/programs/static_cudart.yaml"},
                 "CUVET_QUOTA"),
    _environment("no_quota", {"CUVET_QUOTA": "100"}, "CUVET_QUOTA"),
    _environment("no_registry", {"CUVET_CONFIG": "", "CUVET_TABLES": "off"}, "no CUVET_CONFIG, and CUVET_TABLES is off",
                 registry=None),
]
# A quota is only felt by a program with findings.
for _case in BAD_INPUT:
    if _case.name == "bad_input/tiny_quota":
        _case.argv, _case.findings = ["{build}/static_cudart"], None


def fuzz_case(number, path):
    """One file of fuzz_signatures.py: whatever it says, the program does not notice."""
    return Case("fuzz_signatures/" + number, "100 wrong signatures: the program does not notice",
                ["{build}/fuzz_target"], path, env={"CUVET_BUNDLES": "1"}, findings=None, at_least=0,
                most_lines=2000)


CASES = PROGRAMS + EDITED + FORKS + ENDINGS + PYTHON + PASSIVE + BAD_INPUT
