// Hidden states to vectors as they are sent: pool, truncate, L2 in float32, quantize; one block a request, one pass.
//
// Bytes moved: the kept columns of the pooled tokens read once, each wanted number format written once. The row waits
// in shared memory between. `sound` tells whether the vector may be sent.
#include "numbers.cuh"

namespace {
const int THREADS = 256;
const int WARPS = THREADS / 32;
const float NORM_TOLERANCE = 1e-3f;

enum Mode { LAST_TOKEN, MEAN, CLS };
enum Kind { FLOAT32 = 1, FLOAT16 = 2, BFLOAT16 = 4, INT8 = 8, UINT8 = 16, BINARY = 32, UBINARY = 64 };

/// What one request wants. The same fields, in the same order, in cenote_kernels/epilogue_kernel.py.
struct Job {
    i64 start, end;   // its tokens in the packed batch
    i64 out;          // where its formats begin in `out`, in bytes; each begins at a multiple of 16
    i64 ranges;       // where its ranges begin in `ranges`: least values, then greatest; -1 for the fixed range
    i32 dimensions;
    i32 formats;      // one bit a format; they lie in the order of the bits
    i32 normalize;
    float bound;      // of the fixed range: -bound..bound
};

/// The sum over the block, in every thread; always in the same order.
DEVICE float block_sum(float value) {
    __shared__ float parts[WARPS];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) sum += parts[warp];
    __syncthreads();  // `parts` may be written again
    return sum;
}

template <typename Format>
DEVICE float pool_row(const typename Format::stored* hidden, i32 width, const Job& job, i32 mode, float* row) {
    typedef Vector16<Format> Vector;
    const i64 from = mode == LAST_TOKEN ? job.end - 1 : job.start, to = mode == MEAN ? job.end : from + 1;
    const float count = (float)(to - from);
    float squares = 0.0f;
    for (int at = threadIdx.x * Vector::LANES; at < job.dimensions; at += THREADS * Vector::LANES) {
        float sums[Vector::LANES];
#pragma unroll
        for (int i = 0; i < Vector::LANES; ++i) sums[i] = 0.0f;
#pragma unroll 4
        for (i64 token = from; token < to; ++token) {
            float values[Vector::LANES];
            Vector::load(hidden + token * width + at, values);
#pragma unroll
            for (int i = 0; i < Vector::LANES; ++i) sums[i] += values[i];
        }
#pragma unroll
        for (int i = 0; i < Vector::LANES; ++i) {
            const float value = at + i < job.dimensions ? sums[i] / count : 0.0f;
            row[at + i] = value;
            squares += value * value;
        }
    }
    return squares;
}

DEVICE bool finite(float x) { return (__float_as_uint(x) & 0x7F800000u) != 0x7F800000u; }

/// Level 0..255 of one component.
DEVICE u32 level(float x, const Job& job, const float* ranges, int at) {
    const float low = job.ranges < 0 ? -job.bound : ranges[job.ranges + at];
    const float high = job.ranges < 0 ? job.bound : ranges[job.ranges + job.dimensions + at];
    return (u32)fminf(fmaxf(floorf((x - low) / ((high - low) / 255.0f)), 0.0f), 255.0f);
}

/// A word of `PER` components, from `at` on. `row` is zero behind its end, up to a multiple of 32.
template <int KIND> struct Packed;
template <> struct Packed<FLOAT32> {
    static const int PER = 1;
    static DEVICE u32 word(const float* row, const Job&, const float*, int at) { return __float_as_uint(row[at]); }
};
template <> struct Packed<FLOAT16> {
    static const int PER = 2;
    static DEVICE u32 word(const float* row, const Job&, const float*, int at) {
        return pack2<Float16>(row[at], row[at + 1]);
    }
};
template <> struct Packed<BFLOAT16> {
    static const int PER = 2;
    static DEVICE u32 word(const float* row, const Job&, const float*, int at) {
        return pack2<BFloat16>(row[at], row[at + 1]);
    }
};
template <> struct Packed<UINT8> {
    static const int PER = 4;
    static DEVICE u32 word(const float* row, const Job& job, const float* ranges, int at) {
        u32 levels = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (at + i < job.dimensions) levels |= level(row[at + i], job, ranges, at + i) << (8 * i);
        }
        return levels;
    }
};
template <> struct Packed<INT8> {
    static const int PER = 4;
    static DEVICE u32 word(const float* row, const Job& job, const float* ranges, int at) {
        return Packed<UINT8>::word(row, job, ranges, at) ^ 0x80808080u;  // level - 128, as two's complement
    }
};
template <> struct Packed<UBINARY> {
    static const int PER = 32;
    static DEVICE u32 word(const float* row, const Job&, const float*, int at) {
        u32 bits = 0;
#pragma unroll
        for (int i = 0; i < 32; ++i) bits |= (u32)(row[at + i] >= 0.0f) << (i / 8 * 8 + 7 - i % 8);
        return bits;
    }
};
template <> struct Packed<BINARY> {
    static const int PER = 32;
    static DEVICE u32 word(const float* row, const Job& job, const float* ranges, int at) {
        return Packed<UBINARY>::word(row, job, ranges, at) ^ 0x80808080u;
    }
};

/// Writes one format if it is wanted, and moves `out` behind it. The slot ends at a multiple of 16 bytes, and so has
/// room for the last word.
template <int KIND> DEVICE void write(u8*& out, const float* row, const Job& job, const float* ranges) {
    if (!(job.formats & KIND)) return;
    const int words = (job.dimensions + Packed<KIND>::PER - 1) / Packed<KIND>::PER;
    for (int at = threadIdx.x; at < words; at += THREADS) {
        reinterpret_cast<u32*>(out)[at] = Packed<KIND>::word(row, job, ranges, at * Packed<KIND>::PER);
    }
    out += (words + 3) / 4 * 16;
}

template <typename Format>
DEVICE void epilogue(
    const typename Format::stored* hidden, i32 width, const Job* jobs, const float* ranges, u8* out, u8* sound, i32 mode
) {
    DYNAMIC_SHARED(float, row);  // the kept columns, and zeros up to a multiple of 32
    __shared__ int unfit;
    const Job job = jobs[blockIdx.x];
    if (threadIdx.x == 0) unfit = 0;
    for (int at = job.dimensions + threadIdx.x; at < (job.dimensions + 31) / 32 * 32; at += THREADS) row[at] = 0.0f;
    __syncthreads();  // `pool_row` writes some of the same zeros
    const float norm = sqrtf(block_sum(pool_row<Format>(hidden, width, job, mode, row)));
    float squares = 0.0f;
    for (int at = threadIdx.x; at < job.dimensions; at += THREADS) {
        const float value = job.normalize ? row[at] / norm : row[at];
        row[at] = value;
        squares += value * value;
        bool fits = finite(value);
        if (job.formats & FLOAT16) fits = fits && (Float16::write(value) & 0x7C00u) != 0x7C00u;
        if (job.formats & BFLOAT16) fits = fits && (BFloat16::write(value) & 0x7F80u) != 0x7F80u;
        if (!fits) unfit = 1;
    }
    const float length = sqrtf(block_sum(squares));  // and a barrier: every thread may read the whole row now
    u8* place = out + job.out;
    write<FLOAT32>(place, row, job, ranges);
    write<FLOAT16>(place, row, job, ranges);
    write<BFLOAT16>(place, row, job, ranges);
    write<INT8>(place, row, job, ranges);
    write<UINT8>(place, row, job, ranges);
    write<BINARY>(place, row, job, ranges);
    write<UBINARY>(place, row, job, ranges);
    if (threadIdx.x == 0) {
        const bool long_enough = job.normalize ? fabsf(length - 1.0f) <= NORM_TOLERANCE : length > 0.0f;
        sound[blockIdx.x] = long_enough && !unfit;
    }
}
}  // namespace

#define ENTRY(name, Format)                                                                                           \
    KERNEL(THREADS) name(                                                                                             \
        const Format::stored* hidden, i32 width, const Job* jobs, const float* ranges, u8* out, u8* sound, i32 mode   \
    ) {                                                                                                               \
        epilogue<Format>(hidden, width, jobs, ranges, out, sound, mode);                                              \
    }
ENTRY(epilogue_float32, Float32)
ENTRY(epilogue_float16, Float16)
ENTRY(epilogue_bfloat16, BFloat16)
