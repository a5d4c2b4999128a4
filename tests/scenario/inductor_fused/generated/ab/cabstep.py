# AOT ID: ['0_forward']
import torch
async_compile = AsyncCompile()


# kernel path: cache/ab/triton_poi_fused__to_copy_add_mul_t_0.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %primals_1 : Tensor "bf16[40, 96][96, 1]cuda:0" = PlaceHolder[target=primals_1]
#   %primals_2 : Tensor "f32[96][1]cuda:0" = PlaceHolder[target=primals_2]
#   %primals_3 : Tensor "f32[96, 40][40, 1]cuda:0" = PlaceHolder[target=primals_3]
#   %convert_element_type : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_1, torch.float32), kwargs = {})
#   %mul : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type, %primals_2), kwargs = {})
#   %permute : Tensor "f32[40, 96][1, 40]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%primals_3, [1, 0]), kwargs = {})
#   %add : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul, %permute), kwargs = {})
#   %convert_element_type_1 : Tensor "bf16[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add, torch.bfloat16), kwargs = {})
#   return %convert_element_type_1
triton_poi_fused__to_copy_add_mul_t_0 = async_compile.triton('triton_poi_fused__to_copy_add_mul_t_0', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*fp32', 'in_ptr2': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_poi_fused__to_copy_add_mul_t_0', 'mutated_arg_names': []},
)
@triton.jit
def triton_poi_fused__to_copy_add_mul_t_0(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK):
    xnumel = 3840
    tmp0 = tl.load(in_ptr0 + (x2), xmask).to(tl.float32)
    tmp2 = tl.load(in_ptr1 + (x0), xmask)
    tmp4 = tl.load(in_ptr2 + (x1 + 40*x0), xmask)
    tmp5 = tmp0 * tmp2
    tmp6 = tmp5 + tmp4
    tl.store(out_ptr0 + (x2), tmp6, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_per_fused_add_mean_mul_pow_rsqrt_1.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %primals_4 : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=primals_4]
#   %mean : Tensor "f32[40, 1][1, 40]cuda:0" = PlaceHolder[target=mean]
#   %primals_2 : Tensor "f32[96][1]cuda:0" = PlaceHolder[target=primals_2]
#   %pow_1 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.pow.Tensor_Scalar](args = (%primals_4, 2), kwargs = {})
#   %mean : Tensor "f32[40, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mean.dim](args = (%pow_1, [-1], True), kwargs = {})
#   %add_1 : Tensor "f32[40, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mean, 1e-05), kwargs = {})
#   %rsqrt : Tensor "f32[40, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.rsqrt.default](args = (%add_1,), kwargs = {})
#   %mul_1 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%primals_4, %rsqrt), kwargs = {})
#   %mul_2 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_1, %primals_2), kwargs = {})
#   return %mean,%mul_2
triton_per_fused_add_mean_mul_pow_rsqrt_1 = async_compile.triton('triton_per_fused_add_mean_mul_pow_rsqrt_1', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr1': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_per_fused_add_mean_mul_pow_rsqrt_1', 'mutated_arg_names': []},
)
@triton.jit
def triton_per_fused_add_mean_mul_pow_rsqrt_1(in_ptr0, in_ptr1, out_ptr1, xnumel, r0_numel, XBLOCK):
    tmp0 = tl.load(in_ptr0 + (r0_1 + 96*x0), xmask)
    tmp9 = tl.load(in_ptr1 + (r0_1), None)
    tl.store(out_ptr1 + (r0_1 + 96*x0), tmp11, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_poi_fused_add_gelu_2.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %mm : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=mm]
#   %primals_2 : Tensor "f32[96][1]cuda:0" = PlaceHolder[target=primals_2]
#   %add_2 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mm, %primals_2), kwargs = {})
#   %mul_3 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_2, 0.5), kwargs = {})
#   %mul_4 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_2, 0.7071067811865476), kwargs = {})
#   %erf : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.erf.default](args = (%mul_4,), kwargs = {})
#   %add_3 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%erf, 1), kwargs = {})
#   %mul_5 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_3, %add_3), kwargs = {})
#   return %mul_5
triton_poi_fused_add_gelu_2 = async_compile.triton('triton_poi_fused_add_gelu_2', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*fp32', 'in_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_poi_fused_add_gelu_2', 'mutated_arg_names': []},
)
@triton.jit
def triton_poi_fused_add_gelu_2(in_out_ptr0, in_ptr0, xnumel, XBLOCK):
    tmp0 = tl.load(in_out_ptr0 + (x2), xmask)
    tmp1 = tl.load(in_ptr0 + (x0), xmask)
    tl.store(in_out_ptr0 + (x2), tmp8, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_per_fused__softmax_prepare_softmax_online_3.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %mul_5 : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=mul_5]
#   %getitem : Tensor "f32[40, 1][1, 40]cuda:0" = PlaceHolder[target=getitem]
#   %getitem_1 : Tensor "f32[40, 1][1, 40]cuda:0" = PlaceHolder[target=getitem_1]
#   %prepare_softmax_online_default : [num_users=2] = call_function[target=torch.ops.prims.prepare_softmax_online.default](args = (%mul_5, -1), kwargs = {})
#   %sub_tensor : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%mul_5, %getitem), kwargs = {})
#   %exp_default : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%sub_tensor,), kwargs = {})
#   %div : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%exp_default, %getitem_1), kwargs = {})
#   return %getitem,%getitem_1,%div
triton_per_fused__softmax_prepare_softmax_online_3 = async_compile.triton('triton_per_fused__softmax_prepare_softmax_online_3', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr2': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_per_fused__softmax_prepare_softmax_online_3', 'mutated_arg_names': []},
)
@triton.jit
def triton_per_fused__softmax_prepare_softmax_online_3(in_ptr0, out_ptr2, xnumel, r0_numel, XBLOCK):
    tmp0 = tl.load(in_ptr0 + (r0_1 + 96*x0), xmask)
    tmp9 = tl_math.exp(tmp8)
    tl.store(out_ptr2 + (r0_1 + 96*x0), tmp13, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_per_fused_native_layer_norm_4.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %div : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=div]
#   %getitem_3 : Tensor "f32[40, 1][1, 40]cuda:0" = PlaceHolder[target=getitem_3]
#   %buf7 : Tensor "f32[40, 1][1, 40]cuda:0" = PlaceHolder[target=buf7]
#   %rsqrt_1 : Tensor "f32[40, 1][1, 1]cuda:0" = PlaceHolder[target=rsqrt_1]
#   %primals_2 : Tensor "f32[96][1]cuda:0" = PlaceHolder[target=primals_2]
#   %primals_5 : Tensor "f32[96][1]cuda:0" = PlaceHolder[target=primals_5]
#   %var_mean : [num_users=2] = call_function[target=torch.ops.aten.var_mean.correction](args = (%div, [1]), kwargs = {correction: 0, keepdim: True})
#   %add_4 : Tensor "f32[40, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%getitem_2, 1e-05), kwargs = {})
#   %rsqrt_1 : Tensor "f32[40, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.rsqrt.default](args = (%add_4,), kwargs = {})
#   %sub_1 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%div, %getitem_3), kwargs = {})
#   %mul_6 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_7 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_6, %primals_2), kwargs = {})
#   %add_5 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_7, %primals_5), kwargs = {})
#   return %getitem_3,%buf7,%rsqrt_1,%add_5
triton_per_fused_native_layer_norm_4 = async_compile.triton('triton_per_fused_native_layer_norm_4', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*fp32', 'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'in_ptr2': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_per_fused_native_layer_norm_4', 'mutated_arg_names': []},
)
@triton.jit
def triton_per_fused_native_layer_norm_4(in_out_ptr0, in_ptr0, in_ptr1, in_ptr2, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK):
    tmp0 = tl.load(in_ptr0 + (r0_1 + 96*x0), xmask)
    tmp20 = tl.load(in_ptr1 + (r0_1), None)
    tmp22 = tl.load(in_ptr2 + (r0_1), None)
    tl.store(in_out_ptr0 + (x0), tmp19, xmask)
    tl.store(out_ptr1 + (r0_1 + 96*x0), tmp23, xmask)
    tl.store(out_ptr0 + (x0), tmp10, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_poi_fused_cat_slice_where_5.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %primals_4 : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=primals_4]
#   %primals_6 : Tensor "f32[40, 32][32, 1]cuda:0" = PlaceHolder[target=primals_6]
#   %slice_1 : Tensor "f32[40, 64][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.slice.Tensor](args = (%primals_4, 1, 32, 9223372036854775807), kwargs = {})
#   %cat : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%primals_6, %slice_1], 1), kwargs = {})
#   %full_default : Tensor "f32[][]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.full.default](args = ([], -2.5), kwargs = {dtype: torch.float32, layout: torch.strided, device: cuda:0, pin_memory: False})
#   %lt : Tensor "b8[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.lt.Scalar](args = (%cat, 0.5), kwargs = {})
#   %where : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.where.self](args = (%lt, %full_default, %cat), kwargs = {})
#   return %where
triton_poi_fused_cat_slice_where_5 = async_compile.triton('triton_poi_fused_cat_slice_where_5', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_poi_fused_cat_slice_where_5', 'mutated_arg_names': []},
)
@triton.jit
def triton_poi_fused_cat_slice_where_5(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK):
    tmp5 = tl.load(in_ptr0 + (32 + x0), tmp4)
    tmp9 = tl.load(in_ptr1 + (x0), tmp8)
    tl.store(out_ptr0 + (x2), tmp12, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_poi_fused_embedding_6.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %primals_7 : Tensor "i64[40][1]cuda:0" = PlaceHolder[target=primals_7]
#   %primals_4 : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=primals_4]
#   %embedding : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%primals_4, %primals_7), kwargs = {})
#   return %embedding
triton_poi_fused_embedding_6 = async_compile.triton('triton_poi_fused_embedding_6', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*i64', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_poi_fused_embedding_6', 'mutated_arg_names': []},
)
@triton.jit
def triton_poi_fused_embedding_6(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK):
    tmp0 = tl.load(in_ptr0 + (x1), xmask)
    tmp6 = tl.load(in_ptr1 + (x0 + 96*tmp4), xmask)
    tl.store(out_ptr0 + (x2), tmp6, xmask)
''', device_str='cuda')


# kernel path: cache/ab/triton_red_fused_add_copy__slice_scatter_sum_7.py
# Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]
# Source node to ATen node mapping:
#   y => y
# Graph fragment:
#   %primals_9 : Tensor "f32[40, 96][96, 1]cuda:0" = PlaceHolder[target=primals_9]
#   %primals_6 : Tensor "f32[40, 32][32, 1]cuda:0" = PlaceHolder[target=primals_6]
#   %sum_1 : Tensor "f32[][]cuda:0" = PlaceHolder[target=sum_1]
#   %full_default_1 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.full.default](args = ([40, 96], 0), kwargs = {dtype: torch.float32, layout: torch.strided, device: cuda:0, pin_memory: False})
#   %slice_scatter : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.slice_scatter.default](args = (%full_default_1, %primals_6, 1, 16, 48), kwargs = {})
#   %add_6 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%primals_9, %slice_scatter), kwargs = {})
#   %sum_1 : Tensor "f32[][]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.default](args = (%add_6,), kwargs = {})
#   %constant_pad_nd : Tensor "f32[40, 128][128, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.constant_pad_nd.default](args = (%add_6, [8, 24, 0, 0], 1.5), kwargs = {})
#   %mm_9 : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mm.default](args = (%add_6, %primals_8), kwargs = {})
#   %copy_ : Tensor "f32[40, 96][96, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.copy_.default](args = (%primals_9, %add_6), kwargs = {})
#   return %sum_1,%constant_pad_nd,%buf12
triton_red_fused_add_copy__slice_scatter_sum_7 = async_compile.triton('triton_red_fused_add_copy__slice_scatter_sum_7', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32', 'out_ptr2': '*fp32', 'ws_ptr': '*fp32', 'xnumel': 'constexpr', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_red_fused_add_copy__slice_scatter_sum_7', 'mutated_arg_names': []},
)
@triton.jit
def triton_red_fused_add_copy__slice_scatter_sum_7(in_ptr0, in_ptr1, out_ptr0, out_ptr1, out_ptr2, ws_ptr, xnumel, r0_numel, XBLOCK):
    tmp0 = tl.load(in_ptr0 + (r0_2), r0_mask)
    tmp5 = tl.load(in_ptr1 + (r0_1 + 32*x0), tmp4)
    tl.store(ws_ptr + (x0), tmp8, xmask)
    tl.store(out_ptr1 + (r0_2), tmp9, r0_mask)
    tl.store(out_ptr2 + (r0_2), tmp7, r0_mask)
    tl.store(out_ptr0 + (0), tmp8, None)
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

class Runner:
    def call(self, args):
        primals_1, primals_2, primals_3, primals_4, primals_5, primals_6, primals_7, primals_8, primals_9 = args
        args.clear()
        assert_size_stride(primals_1, (40, 96), (96, 1))
        assert_size_stride(primals_2, (96, ), (1, ))
        assert_size_stride(primals_3, (96, 40), (40, 1))
        assert_size_stride(primals_9, (40, 96), (96, 1))
        assert_size_stride(primals_4, (40, 96), (96, 1))
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((40, 96), (96, 1), torch.bfloat16)
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_add_mul_t_0.run(primals_1, primals_2, primals_3, buf0, 3840, stream=stream0)
            buf2 = empty_strided_cuda((40, 96), (96, 1), torch.float32)
            triton_per_fused_add_mean_mul_pow_rsqrt_1.run(primals_4, primals_2, buf2, 40, 96, stream=stream0)
            buf3 = empty_strided_cuda((40, 96), (96, 1), torch.float32)
            extern_kernels.mm(buf2, reinterpret_tensor(primals_8, (96, 96), (1, 96), 0), out=buf3)
            buf4 = buf3; del buf3  # reuse
            triton_poi_fused_add_gelu_2.run(buf4, primals_2, 3840, stream=stream0)
            buf5 = buf2; del buf2  # reuse
            triton_per_fused__softmax_prepare_softmax_online_3.run(buf4, buf5, 40, 96, stream=stream0)
            buf6 = empty_strided_cuda((40, 1), (1, 1), torch.float32)
            buf7 = empty_strided_cuda((40, 1), (1, 40), torch.float32)
            buf8 = reinterpret_tensor(buf7, (40, 1), (1, 1), 0); del buf7  # reuse
            buf9 = empty_strided_cuda((40, 96), (96, 1), torch.float32)
            triton_per_fused_native_layer_norm_4.run(buf8, buf5, primals_2, primals_5, buf6, buf9, 40, 96, stream=stream0)
            buf10 = empty_strided_cuda((40, 96), (96, 1), torch.float32)
            triton_poi_fused_cat_slice_where_5.run(primals_4, primals_6, buf10, 3840, stream=stream0)
            buf11 = empty_strided_cuda((40, 96), (96, 1), torch.float32)
            triton_poi_fused_embedding_6.run(primals_7, primals_4, buf11, 3840, stream=stream0)
            buf13 = empty_strided_cuda((), (), torch.float32)
            buf14 = empty_strided_cuda((40, 128), (128, 1), torch.float32)
            workspace_0 = empty_strided_cuda((256, ), (1, ), torch.uint8)
            triton_red_fused_add_copy__slice_scatter_sum_7.run(primals_9, primals_6, buf13, buf14, primals_9, workspace_0, 1, 3840, stream=stream0)
        return (buf0, buf4, buf6, buf8, buf9, buf10, buf11, )
