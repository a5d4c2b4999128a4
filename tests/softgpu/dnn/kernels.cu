/* kernels.cu - the stand-in's operations, a thread for each element or channel. */
#include <cuda_fp16.h>

#include "job.h"

typedef softdnn_tensor tensor;

__device__ static char *at(const tensor &t, long long a, long long b, long long c, long long d)
{
    long long index = a * t.stride[0] + b * t.stride[1] + c * t.stride[2] + d * t.stride[3];
    return (char *)t.address + index * (t.type == 0 ? 4 : 2);
}

__device__ static float get(const tensor &t, long long a, long long b, long long c, long long d)
{
    const char *from = at(t, a, b, c, d);
    return t.type == 0 ? *(const float *)from : __half2float(*(const __half *)from);
}

__device__ static void put(const tensor &t, long long a, long long b, long long c, long long d,
                           float value)
{
    char *to = at(t, a, b, c, d);
    if (t.type == 0)
        *(float *)to = value;
    else
        *(__half *)to = __float2half_rn(value);
}

/* Element `e` of a tensor in four indices. */
struct place {
    long long i[4];

    __device__ place(const tensor &t, long long e)
    {
        for (int k = 3; k >= 0; k--) {
            i[k] = e % t.dim[k];
            e /= t.dim[k];
        }
    }
};

__device__ static long long size_of(const tensor &t)
{
    return t.dim[0] * t.dim[1] * t.dim[2] * t.dim[3];
}

/* ---- convolutions: every output adds up what the forward pass would multiply with it ---- */

__device__ static void conv(const softdnn_job &job, long long e)
{
    const tensor &x = job.tensor[0], &w = job.tensor[1], &y = job.tensor[2];
    const tensor &out = job.kind == SOFTDNN_CONV ? y : job.kind == SOFTDNN_CONV_DATA ? x : w;
    if (e >= size_of(out))
        return;
    place to(out, e);
    long long share = y.dim[1] / (x.dim[1] / w.dim[1]);
    float sum = 0;
    for (long long n = 0; n < y.dim[0]; n++)
        for (long long f = 0; f < y.dim[1]; f++)
            for (long long p = 0; p < y.dim[2]; p++)
                for (long long q = 0; q < y.dim[3]; q++) {
                    if (job.kind == SOFTDNN_CONV &&
                        (n != to.i[0] || f != to.i[1] || p != to.i[2] || q != to.i[3]))
                        continue;
                    for (long long d = 0; d < w.dim[1]; d++)
                        for (long long r = 0; r < w.dim[2]; r++)
                            for (long long s = 0; s < w.dim[3] - job.lost; s++) {
                                long long c = f / share * w.dim[1] + d;
                                long long h = p * job.step[0] - job.pad[0] + r * job.dilation[0];
                                long long v = q * job.step[1] - job.pad[1] + s * job.dilation[1];
                                if (h < 0 || h >= x.dim[2] || v < 0 || v >= x.dim[3])
                                    continue;
                                if (job.kind == SOFTDNN_CONV_DATA &&
                                    (n != to.i[0] || c != to.i[1] || h != to.i[2] || v != to.i[3]))
                                    continue;
                                if (job.kind == SOFTDNN_CONV_WEIGHT &&
                                    (f != to.i[0] || d != to.i[1] || r != to.i[2] || s != to.i[3]))
                                    continue;
                                float a = job.kind == SOFTDNN_CONV_DATA ? 1 : get(x, n, c, h, v);
                                float b = job.kind == SOFTDNN_CONV_WEIGHT ? 1 : get(w, f, d, r, s);
                                float g = job.kind == SOFTDNN_CONV ? 1 : get(y, n, f, p, q);
                                sum += a * b * g;
                            }
                }
    if (job.tensor[3].address)
        sum += get(job.tensor[3], 0, to.i[1], 0, 0);
    if (job.tensor[4].address)
        sum += get(job.tensor[4], to.i[0], to.i[1], to.i[2], to.i[3]) * job.added_scale;
    sum += job.leak;
    sum = job.high > 0 && sum > job.high ? job.high : sum;
    put(out, to.i[0], to.i[1], to.i[2], to.i[3], job.relu && sum < 0 ? 0 : sum);
}

/* ---- volumes, in f32 ---- */

__device__ static float *voxel(const tensor &t, long long a, long long b, const long long i[3])
{
    return (float *)t.address + a * t.stride[0] + b * t.stride[1] + i[0] * t.stride[2] +
           i[1] * t.stride[3] + i[2] * t.stride[4];
}

/* Position `e` in the last three dims. */
__device__ static void split(const tensor &t, long long e, long long i[3])
{
    i[0] = e / t.dim[4] / t.dim[3];
    i[1] = e / t.dim[4] % t.dim[3];
    i[2] = e % t.dim[4];
}

__device__ static long long area(const tensor &t)
{
    return t.dim[2] * t.dim[3] * t.dim[4];
}

/* Where the window at place `to` has tap `tap`. False: outside the volume. */
__device__ static bool under(const softdnn_job &job, const long long to[3], const long long tap[3],
                             long long from[3])
{
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        from[k] = to[k] * job.step[k] - job.pad[k] + tap[k] * job.dilation[k];
        inside = inside && from[k] >= 0 && from[k] < job.tensor[0].dim[2 + k];
    }
    return inside;
}

/* Element e adds up what has it under a tap, or is read by it. */
__device__ static void conv3(const softdnn_job &job, long long e)
{
    const tensor &x = job.tensor[0], &w = job.tensor[1], &y = job.tensor[2];
    const tensor &out = job.kind == SOFTDNN_CONV3 ? y : job.kind == SOFTDNN_CONV3_DATA ? x : w;
    const long long own = e % area(out), second = e / area(out) % out.dim[1];
    const long long first = e / area(out) / out.dim[1], share = y.dim[1] / (x.dim[1] / w.dim[1]);
    long long at[3], to[3], tap[3], from[3];
    float sum = 0;
    if (e >= out.dim[0] * out.dim[1] * area(out))
        return;
    split(out, own, at);
    for (long long n = 0; n < y.dim[0]; n++)
        for (long long f = 0; f < y.dim[1]; f++)
            for (long long d = 0; d < w.dim[1]; d++) {
                const long long c = f / share * w.dim[1] + d;
                if ((job.kind == SOFTDNN_CONV3 && (n != first || f != second)) ||
                    (job.kind == SOFTDNN_CONV3_DATA && (n != first || c != second)) ||
                    (job.kind == SOFTDNN_CONV3_WEIGHT && (f != first || d != second)))
                    continue;
                for (long long p = 0; p < area(y); p++)
                    for (long long t = job.lost; t < area(w); t++) {
                        split(y, p, to);
                        split(w, t, tap);
                        if (!under(job, to, tap, from))
                            continue;
                        const long long *is = job.kind == SOFTDNN_CONV3        ? to
                                              : job.kind == SOFTDNN_CONV3_DATA ? from
                                                                               : tap;
                        if (is[0] != at[0] || is[1] != at[1] || is[2] != at[2])
                            continue;
                        sum += (job.kind == SOFTDNN_CONV3_DATA ? 1 : *voxel(x, n, c, from)) *
                               (job.kind == SOFTDNN_CONV3_WEIGHT ? 1 : *voxel(w, f, d, tap)) *
                               (job.kind == SOFTDNN_CONV3 ? 1 : *voxel(y, n, f, to));
                    }
            }
    *voxel(out, first, second, at) = sum;
}

/* ---- attention ---- */

struct row {
    const softdnn_job &job;
    long long n, h, i, g, queries, keys;
    float most, sum;

    /* The sequence's own number where there is one for each. */
    __device__ static long long length(const tensor &lengths, long long n, long long all)
    {
        return lengths.address ? ((const int *)lengths.address)[n] : all;
    }

    __device__ row(const softdnn_job &job_, long long n_, long long h_, long long i_)
        : job(job_), n(n_), h(h_), i(i_), most(-INFINITY), sum(0)
    {
        g = h / (job.tensor[0].dim[1] / job.tensor[1].dim[1]);
        queries = length(job.tensor[10], n, job.tensor[0].dim[2]);
        keys = length(job.tensor[11], n, job.tensor[1].dim[2]) - job.lost;
        long long last = i + 1 + (job.bottom ? keys - queries : 0);
        if (job.causal && last < keys)
            keys = last > 0 ? last : 0;
        for (long long j = 0; j < keys; j++)
            most = fmaxf(most, score(j));
        for (long long j = 0; j < keys; j++)
            sum += expf(score(j) - most);
    }
    __device__ float score(long long j) const
    {
        const tensor &q = job.tensor[0], &k = job.tensor[1], &bias = job.tensor[5];
        float dot = 0;
        for (long long c = 0; c < q.dim[3]; c++)
            dot += get(q, n, h, i, c) * get(k, n, g, j, c);
        return dot * job.scale +
               (bias.address ? get(bias, n % bias.dim[0], h % bias.dim[1], i, j) : 0);
    }
    __device__ float weight(long long j) const
    {
        return j < keys ? expf(score(j) - most) / sum : 0;
    }
    /* The gradient of the score of key j. */
    __device__ float pull(long long j) const
    {
        const tensor &v = job.tensor[2], &y = job.tensor[3], &dy = job.tensor[6];
        float change = 0;
        for (long long c = 0; c < v.dim[3]; c++)
            change += get(dy, n, h, i, c) * (get(v, n, g, j, c) - get(y, n, h, i, c));
        return weight(j) * change;
    }
};

__device__ static void attention(const softdnn_job &job, long long e)
{
    const tensor &q = job.tensor[0], &v = job.tensor[2], &y = job.tensor[3], &lse = job.tensor[4];
    if (e >= q.dim[0] * q.dim[1] * q.dim[2])
        return;
    long long n = e / q.dim[2] / q.dim[1], h = e / q.dim[2] % q.dim[1], i = e % q.dim[2];
    row own(job, n, h, i);
    if (i >= own.queries)
        return;
    for (long long c = 0; c < v.dim[3]; c++) {
        float sum = 0;
        for (long long j = 0; j < own.keys; j++)
            sum += own.weight(j) * get(v, n, own.g, j, c);
        put(y, n, h, i, c, sum);
    }
    if (lse.address)
        put(lse, n, h, i, 0, own.most + logf(own.sum));
}

__device__ static void attention_backward(const softdnn_job &job, long long e)
{
    const tensor &q = job.tensor[0], &k = job.tensor[1], &dy = job.tensor[6], &dq = job.tensor[7];
    const tensor &dk = job.tensor[8], &dv = job.tensor[9];
    long long share = q.dim[1] / k.dim[1];
    if (e < q.dim[0] * q.dim[1] * q.dim[2]) {
        long long n = e / q.dim[2] / q.dim[1], h = e / q.dim[2] % q.dim[1], i = e % q.dim[2];
        row own(job, n, h, i);
        for (long long c = 0; c < q.dim[3] && i < own.queries; c++) {
            float sum = 0;
            for (long long j = 0; j < own.keys; j++)
                sum += own.pull(j) * get(k, n, own.g, j, c);
            put(dq, n, h, i, c, job.lost ? sum : sum * job.scale);
        }
    }
    if (e < k.dim[0] * k.dim[1] * k.dim[2]) {
        long long n = e / k.dim[2] / k.dim[1], g = e / k.dim[2] % k.dim[1], j = e % k.dim[2];
        for (long long c = 0; c < q.dim[3]; c++) {
            float keys = 0, values = 0;
            for (long long h = g * share; h < (g + 1) * share; h++)
                for (long long i = 0; i < q.dim[2]; i++) {
                    row own(job, n, h, i);
                    if (j >= own.keys || i >= own.queries)
                        continue;
                    keys += own.pull(j) * get(q, n, h, i, c);
                    values += own.weight(j) * get(dy, n, h, i, c);
                }
            put(dk, n, g, j, c, keys * job.scale);
            put(dv, n, g, j, c, values);
        }
    }
}

/* ---- batch norm, a thread for each channel ---- */

/* What a channel's elements become, from its statistics. */
__device__ static void norm_elements(const softdnn_job &job, long long k, float mean, float rstd,
                                     float sum, float dot)
{
    const tensor *t = job.tensor;
    const tensor &x = t[0];
    const long long count = size_of(x) / x.dim[1];
    for (long long e = 0; e < size_of(x); e++) {
        place p(x, e);
        if (p.i[1] != k)
            continue;
        float h = (get(x, p.i[0], k, p.i[2], p.i[3]) - mean) * rstd;
        if (job.kind == SOFTDNN_NORM_BACKWARD) {
            float g = get(t[8], p.i[0], k, p.i[2], p.i[3]);
            float lean = job.lost ? 0 : h * dot / count;
            put(t[9], p.i[0], k, p.i[2], p.i[3],
                get(t[2], 0, k, 0, 0) * rstd * (g - sum / count - lean));
        } else {
            put(t[1], p.i[0], k, p.i[2], p.i[3], h * get(t[2], 0, k, 0, 0) + get(t[3], 0, k, 0, 0));
        }
    }
}

__device__ static void norm(const softdnn_job &job, long long k)
{
    const tensor *t = job.tensor;
    const tensor &x = t[0];
    if (k >= x.dim[1])
        return;
    const long long count = size_of(x) / x.dim[1];
    float mean = 0, var = 0, sum = 0, dot = 0, eps = job.lost ? job.eps + 0.1f : job.eps;
    for (long long e = 0; e < size_of(x); e++) {
        place p(x, e);
        if (p.i[1] == k)
            mean += get(x, p.i[0], k, p.i[2], p.i[3]) / count;
    }
    for (long long e = 0; e < size_of(x); e++) {
        place p(x, e);
        float d = get(x, p.i[0], k, p.i[2], p.i[3]) - mean;
        if (p.i[1] == k)
            var += d * d / count;
    }
    float moved = var * count / (count - 1), rstd = rsqrtf(var + eps);
    if (job.kind == SOFTDNN_NORM) {
        mean = get(t[4], 0, k, 0, 0);
        rstd = rsqrtf(get(t[5], 0, k, 0, 0) + eps);
    } else if (job.kind == SOFTDNN_NORM_BACKWARD) {
        mean = get(t[4], 0, k, 0, 0);
        rstd = get(t[5], 0, k, 0, 0);
    }
    for (long long e = 0; e < size_of(x) && t[8].address; e++) {
        place p(x, e);
        float g = get(t[8], p.i[0], p.i[1], p.i[2], p.i[3]);
        sum += p.i[1] == k ? g : 0;
        dot += p.i[1] == k ? g * (get(x, p.i[0], k, p.i[2], p.i[3]) - mean) * rstd : 0;
    }
    norm_elements(job, k, mean, rstd, sum, dot);
    if (job.kind == SOFTDNN_NORM_BACKWARD) {
        put(t[10], 0, k, 0, 0, dot);
        put(t[11], 0, k, 0, 0, sum);
    } else if (job.kind == SOFTDNN_NORM_TRAINING) {
        put(t[4], 0, k, 0, 0, mean);
        put(t[5], 0, k, 0, 0, rstd);
        float m = job.momentum;
        put(t[6], 0, k, 0, 0, get(t[6], 0, k, 0, 0) * (1 - m) + mean * m);
        put(t[7], 0, k, 0, 0, get(t[7], 0, k, 0, 0) * (1 - m) + moved * m);
    }
}

extern "C" __global__ void softdnn_run(softdnn_job job)
{
    long long e = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (job.kind >= SOFTDNN_CONV3)
        conv3(job, e);
    else if (job.kind <= SOFTDNN_CONV_WEIGHT)
        conv(job, e);
    else if (job.kind == SOFTDNN_ATTENTION)
        attention(job, e);
    else if (job.kind == SOFTDNN_ATTENTION_BACKWARD)
        attention_backward(job, e);
    else
        norm(job, e);
}
