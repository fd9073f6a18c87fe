// What a decoder does to rows between its products: norms, turned heads, gates. All in float32, rounded once.
//
// Bytes moved: each number read once and written once; it waits in registers between. Weights and angles, which many
// rows share, come from the caches.
#include "numbers.cuh"

namespace {
const int WARP = 32;
const int NORM_THREADS = 256, NORM_VECTORS = 8;
const int TURN_THREADS = 128, TURN_HEADS = 4;
const int GATE_THREADS = 256, GATE_VECTORS = 4;
typedef Vector16<Float32> Floats;

/// ``out = weight · x / sqrt(mean(x²) + epsilon)``; `warps` of a block take a row together: 1, 2, 4 or 8.
template <typename Format>
DEVICE void norm_rows(
    const typename Format::stored* x, typename Format::stored* out, const float* weight, i64 x_pitch, i64 out_pitch,
    i64 num_rows, i32 width, i32 warps, float epsilon
) {
    typedef Vector16<Format> Vector;
    __shared__ float parts[NORM_THREADS / WARP];
    const int threads = warps * WARP, group = (int)threadIdx.x / threads, in_group = (int)threadIdx.x % threads;
    const i64 row = (i64)blockIdx.x * (NORM_THREADS / threads) + group;
    const int end = row < num_rows ? width : 0;
    const typename Format::stored* source = x + row * x_pitch;
    typename Format::stored* place = out + row * out_pitch;
    Words4 kept[NORM_VECTORS];
#pragma unroll
    for (int vector = 0; vector < NORM_VECTORS; ++vector) {
        const int at = (vector * threads + in_group) * Vector::LANES;
        kept[vector] = Words4{{0, 0, 0, 0}};
        if (at < end) kept[vector] = *reinterpret_cast<const Words4*>(source + at);
    }
    float sum = 0.0f;
#pragma unroll
    for (int vector = 0; vector < NORM_VECTORS; ++vector) {
        float values[Vector::LANES], squares = 0.0f;
        Vector::unpack(kept[vector], values);
#pragma unroll
        for (int i = 0; i < Vector::LANES; ++i) squares = fmaf(values[i], values[i], squares);
        sum += squares;
    }
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
    if (warps > 1) {
        if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = sum;
        __syncthreads();
        sum = 0.0f;
        for (int warp = 0; warp < warps; ++warp) sum += parts[group * warps + warp];
    }
    const float factor = rsqrtf(sum / (float)width + epsilon);
#pragma unroll
    for (int vector = 0; vector < NORM_VECTORS; ++vector) {
        const int at = (vector * threads + in_group) * Vector::LANES;
        if (at >= end) continue;
        float values[Vector::LANES], weights[Vector::LANES];
        Vector::unpack(kept[vector], values);
#pragma unroll
        for (int i = 0; i < Vector::LANES; i += Floats::LANES) Floats::load(weight + at + i, weights + i);
#pragma unroll
        for (int i = 0; i < Vector::LANES; ++i) values[i] *= factor * weights[i];
        Vector::store(place + at, values);
    }
}

/// Four numbers, as they lie in memory.
template <typename Format> struct Four {
    typedef Words2 Raw;
    static DEVICE void unpack(const Raw& raw, float* values) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            values[2 * i] = Format::read((u16)(raw.word[i] & 0xFFFFu));
            values[2 * i + 1] = Format::read((u16)(raw.word[i] >> 16));
        }
    }
    static DEVICE void store(typename Format::stored* place, const float* values) {
        Raw raw;
#pragma unroll
        for (int i = 0; i < 2; ++i) raw.word[i] = pack2<Format>(values[2 * i], values[2 * i + 1]);
        *reinterpret_cast<Raw*>(place) = raw;
    }
};
template <> struct Four<Float32> {
    typedef Words4 Raw;
    static DEVICE void unpack(const Raw& raw, float* values) { Floats::unpack(raw, values); }
    static DEVICE void store(float* place, const float* values) { Floats::store(place, values); }
};

/// Norms heads, where there are weights, and turns their pairs; a block takes a row, `lanes` neighboring threads a head.
///
/// Each thread has four pairs of a head and the angles of these pairs, which are the same for all heads of the row. It
/// reads what it will write before it writes: `out` may be `x`.
template <typename Format>
DEVICE void turn_heads(
    const typename Format::stored* x, typename Format::stored* out, const float* weight, const float* cos,
    const float* sin, i64 x_row, i64 x_head, i64 out_row, i64 out_head, i64 angle_row, i32 num_heads, i32 head_dim,
    i32 lanes, float epsilon
) {
    typedef Four<Format> Quad;
    typedef typename Quad::Raw Raw;
    const int half = head_dim / 2, pair = (int)threadIdx.x % lanes * 4, groups = (int)blockDim.x / lanes;
    const bool is_inside = pair < half;
    const float share = 1.0f / (float)head_dim;
    const i64 row = blockIdx.x;
    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f}, s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (is_inside) {
        Floats::load(cos + row * angle_row + pair, c);
        Floats::load(sin + row * angle_row + pair, s);
    }
    x += row * x_row + pair;
    out += row * out_row + pair;
    for (int begin = 0; begin < num_heads; begin += groups * TURN_HEADS) {  // as often in each thread of a warp
        const int first = begin + (int)threadIdx.x / lanes;
        Raw raw[TURN_HEADS][2];
        float sums[TURN_HEADS];
#pragma unroll
        for (int turn = 0; turn < TURN_HEADS; ++turn) {
            const int head = first + turn * groups;
            raw[turn][0] = raw[turn][1] = Raw{};
            if (is_inside && head < num_heads) {
                raw[turn][0] = *reinterpret_cast<const Raw*>(x + head * x_head);
                raw[turn][1] = *reinterpret_cast<const Raw*>(x + head * x_head + half);
            }
        }
        if (weight) {
#pragma unroll
            for (int turn = 0; turn < TURN_HEADS; ++turn) {
                float left[4], right[4];
                Quad::unpack(raw[turn][0], left);
                Quad::unpack(raw[turn][1], right);
                sums[turn] = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[turn] = fmaf(left[i], left[i], fmaf(right[i], right[i], sums[turn]));
            }
#pragma unroll
            for (int distance = WARP / 2; distance > 0; distance /= 2) {
                if (distance >= lanes) continue;
#pragma unroll
                for (int turn = 0; turn < TURN_HEADS; ++turn)
                    sums[turn] += __shfl_xor_sync(0xFFFFFFFFu, sums[turn], distance);
            }
        }
#pragma unroll
        for (int turn = 0; turn < TURN_HEADS; ++turn) {
            const int head = first + turn * groups;
            if (!is_inside || head >= num_heads) continue;
            float left[4], right[4], turned[4], other[4];
            Quad::unpack(raw[turn][0], left);
            Quad::unpack(raw[turn][1], right);
            if (weight) {
                const float factor = rsqrtf(sums[turn] * share + epsilon);
                float weights[2][4];
                Floats::load(weight + head * head_dim + pair, weights[0]);
                Floats::load(weight + head * head_dim + half + pair, weights[1]);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    left[i] *= factor * weights[0][i];
                    right[i] *= factor * weights[1][i];
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                turned[i] = left[i] * c[i] - right[i] * s[i];
                other[i] = right[i] * c[i] + left[i] * s[i];
            }
            Quad::store(out + head * out_head, turned);
            Quad::store(out + head * out_head + half, other);
        }
    }
}

/// ``out = silu(gate) · up`` of rows that hold gate and up side by side.
template <typename Format>
DEVICE void gate_rows(
    const typename Format::stored* both, typename Format::stored* out, i64 pitch, i32 width, i32 num_vectors
) {
    typedef Vector16<Format> Vector;
    const u32 in_row = width / Vector::LANES, first = blockIdx.x * (GATE_THREADS * GATE_VECTORS) + threadIdx.x;
    Words4 gates[GATE_VECTORS], ups[GATE_VECTORS];
#pragma unroll
    for (int vector = 0; vector < GATE_VECTORS; ++vector) {
        const u32 at = first + vector * GATE_THREADS;
        if (at >= (u32)num_vectors) continue;
        const typename Format::stored* source = both + (i64)(at / in_row) * pitch + at % in_row * Vector::LANES;
        gates[vector] = *reinterpret_cast<const Words4*>(source);
        ups[vector] = *reinterpret_cast<const Words4*>(source + width);
    }
#pragma unroll
    for (int vector = 0; vector < GATE_VECTORS; ++vector) {
        const u32 at = first + vector * GATE_THREADS;
        if (at >= (u32)num_vectors) continue;
        float values[Vector::LANES], factors[Vector::LANES];
        Vector::unpack(gates[vector], values);
        Vector::unpack(ups[vector], factors);
#pragma unroll
        for (int i = 0; i < Vector::LANES; ++i)
            values[i] = __fdividef(values[i], 1.0f + expf(-values[i])) * factors[i];
        Vector::store(out + (i64)at * Vector::LANES, values);
    }
}
}  // namespace

#define NORM(name, Format)                                                                                            \
    KERNEL(NORM_THREADS) name(                                                                                        \
        const Format::stored* x, Format::stored* out, const float* weight, i64 x_pitch, i64 out_pitch, i64 num_rows,  \
        i32 width, i32 warps, float epsilon                                                                           \
    ) {                                                                                                               \
        norm_rows<Format>(x, out, weight, x_pitch, out_pitch, num_rows, width, warps, epsilon);                       \
    }
#define TURN(name, Format)                                                                                            \
    KERNEL(TURN_THREADS) name(                                                                                        \
        const Format::stored* x, Format::stored* out, const float* weight, const float* cos, const float* sin,        \
        i64 x_row, i64 x_head, i64 out_row, i64 out_head, i64 angle_row, i32 num_heads, i32 head_dim, i32 lanes,      \
        float epsilon                                                                                                 \
    ) {                                                                                                               \
        turn_heads<Format>(                                                                                           \
            x, out, weight, cos, sin, x_row, x_head, out_row, out_head, angle_row, num_heads, head_dim, lanes, epsilon \
        );                                                                                                            \
    }
#define GATE(name, Format)                                                                                            \
    KERNEL(GATE_THREADS) name(                                                                                        \
        const Format::stored* both, Format::stored* out, i64 pitch, i32 width, i32 num_vectors                        \
    ) {                                                                                                               \
        gate_rows<Format>(both, out, pitch, width, num_vectors);                                                      \
    }
#define ENTRY(name, macro, Format) macro(name, Format)
ENTRY(rms_norm_float32, NORM, Float32)
ENTRY(rms_norm_float16, NORM, Float16)
ENTRY(rms_norm_bfloat16, NORM, BFloat16)
ENTRY(turn_heads_float32, TURN, Float32)
ENTRY(turn_heads_float16, TURN, Float16)
ENTRY(turn_heads_bfloat16, TURN, BFloat16)
ENTRY(gate_float32, GATE, Float32)
ENTRY(gate_float16, GATE, Float16)
ENTRY(gate_bfloat16, GATE, BFloat16)
