// Hidden states to vectors as they are sent: pool, truncate, L2 in float32, quantize; one block a request, one pass.
//
// Bytes moved: the kept columns of the pooled tokens read once, each wanted number format written once. The row waits
// in registers between: four columns side by side are one load and one store of a thread, and its QUADS loads are on
// their way together. A block is as wide as the model, so that the order of the sums does not depend on the batch.
#include "numbers.cuh"

namespace {
const int QUADS = 4;  // of four columns each, that a thread holds
const int THREADS = 768;  // at most, for 12,288 columns
const int WARPS = THREADS / 32;
const float NORM_TOLERANCE = 1e-3f;

enum Kind { FLOAT32 = 1, FLOAT16 = 2, BFLOAT16 = 4, INT8 = 8, UINT8 = 16, BINARY = 32, UBINARY = 64 };

/// What one request wants. The same fields, in the same order, in cenote_kernels/fused_epilogue.py.
struct alignas(16) Job {
    i64 start, end;   // its tokens in the packed batch: the first is taken, or the mean of all
    i64 out;          // where its formats begin in `out`, in bytes; each begins at a multiple of 16
    i64 ranges;       // where its ranges begin in `ranges`: least values, then greatest; -1 for the fixed range
    i32 dimensions;
    i32 formats;      // one bit a format; they lie in the order of the bits
    i32 normalize;
    float bound;      // of the fixed range: -bound..bound
};

/// First column of a thread's quad.
DEVICE int column(int quad) { return (quad * blockDim.x + threadIdx.x) * 4; }

/// The sum over the block, in every thread; always in the same order.
DEVICE float block_sum(float value, float* parts) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 4
    for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += parts[warp];
    return sum;
}

/// `row / divisor` by a product and one correction. A divisor lies in 2^-75..2^64 (a norm, or a count), or else the
/// result is not finite.
DEVICE void divide(float* row, float divisor) {
    const float reciprocal = 1.0f / divisor;
#pragma unroll
    for (int i = 0; i < 4 * QUADS; ++i) {
        const float quotient = row[i] * reciprocal;
        row[i] = fmaf(fmaf(-quotient, divisor, row[i]), reciprocal, quotient);
    }
}

/// The thread's columns of one token, or of the mean over tokens; zero behind the row's end.
template <typename Format, bool MEAN>
DEVICE void pool_row(const typename Format::stored* hidden, i32 width, const Job& job, float* row) {
    typedef typename Vector4<Format>::Words Words;
#pragma unroll
    for (int i = 0; i < 4 * QUADS; ++i) row[i] = 0.0f;
    const i64 end = MEAN ? job.end : job.start + 1;
#pragma unroll(8 / sizeof(typename Format::stored))  // 128 bytes of a thread on their way
    for (i64 token = job.start; token < end; ++token) {
        Words quads[QUADS] = {};
#pragma unroll
        for (int quad = 0; quad < QUADS; ++quad) {
            const typename Format::stored* place = hidden + token * width + column(quad);
            if (column(quad) < job.dimensions) quads[quad] = *reinterpret_cast<const Words*>(place);
        }
#pragma unroll
        for (int i = 0; i < 4 * QUADS; i += 4) {
            float values[4];
            Vector4<Format>::read(quads[i / 4], values);
#pragma unroll
            for (int j = 0; j < 4; ++j) row[i + j] += values[j];
        }
    }
    if (job.dimensions % 4) {
#pragma unroll
        for (int i = 0; i < 4 * QUADS; ++i) {
            if (column(i / 4) + i % 4 >= job.dimensions) row[i] = 0.0f;
        }
    }
    if (MEAN) divide(row, (float)(job.end - job.start));
}

DEVICE float sum_of_squares(const float* row) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4 * QUADS; ++i) sum = fmaf(row[i], row[i], sum);
    return sum;
}

/// True if every number that is wanted of these columns is finite: the largest is, with NaN as the largest of all.
DEVICE bool fits(const float* row, i32 formats) {
    u32 most = 0;
#pragma unroll
    for (int i = 0; i < 4 * QUADS; ++i) {
        const u32 magnitude = __float_as_uint(row[i]) & 0x7FFFFFFFu;
        most = most < magnitude ? magnitude : most;
    }
    const float x = __uint_as_float(most);
    return most < 0x7F800000u && !(formats & FLOAT16 && (Float16::write(x) & 0x7C00u) == 0x7C00u) &&
           !(formats & BFLOAT16 && (BFloat16::write(x) & 0x7F80u) == 0x7F80u);
}

/// Level 0..255 of one component.
DEVICE u32 level(float x, float low, float step) {
    return (u32)fminf(fmaxf(floorf((x - low) / step), 0.0f), 255.0f);
}

/// Four components from column `at` on, as they are sent; PER of them are four bytes.
template <int KIND> struct Packed;
template <typename Format> struct PackedFloats {
    static const int PER = 4 / sizeof(typename Format::stored);
    typedef typename Vector4<Format>::Words Words;
    static DEVICE Words of(const float* quad, const Job&, const float*, int) { return Vector4<Format>::write(quad); }
};
template <> struct Packed<FLOAT32> : PackedFloats<Float32> {};
template <> struct Packed<FLOAT16> : PackedFloats<Float16> {};
template <> struct Packed<BFLOAT16> : PackedFloats<BFloat16> {};
template <> struct Packed<UINT8> {
    static const int PER = 4;
    typedef u32 Words;
    static DEVICE u32 of(const float* quad, const Job& job, const float* ranges, int at) {
        u32 levels = 0;
        float low = -job.bound, step = (job.bound + job.bound) / 255.0f;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (at + i >= job.dimensions) continue;
            if (job.ranges >= 0) {
                low = ranges[job.ranges + at + i];
                step = (ranges[job.ranges + job.dimensions + at + i] - low) / 255.0f;
            }
            levels |= level(quad[i], low, step) << (8 * i);
        }
        return levels;
    }
};
template <> struct Packed<INT8> : Packed<UINT8> {
    static DEVICE u32 of(const float* quad, const Job& job, const float* ranges, int at) {
        return Packed<UINT8>::of(quad, job, ranges, at) ^ 0x80808080u;  // level - 128, as two's complement
    }
};
template <> struct Packed<UBINARY> {
    static const int PER = 32;
    typedef u32 Words;
    /// The word of all eight threads whose columns are in it; the whole warp must come here.
    static DEVICE u32 of(const float* quad, const Job&, const float*, int at) {
        u32 bits = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) bits |= (u32)(quad[i] >= 0.0f) << (at % 32 / 8 * 8 + 7 - at % 8 - i);
#pragma unroll
        for (int distance = 1; distance < 8; distance *= 2) bits |= __shfl_xor_sync(0xFFFFFFFFu, bits, distance);
        return bits;
    }
};
template <> struct Packed<BINARY> : Packed<UBINARY> {
    static DEVICE u32 of(const float* quad, const Job& job, const float* ranges, int at) {
        return Packed<UBINARY>::of(quad, job, ranges, at) ^ 0x80808080u;
    }
};

/// Writes one format if it is wanted, and moves `out` behind it. The slot ends at a multiple of 16 bytes, and so has
/// room for the last words.
template <int KIND> DEVICE void write(u8*& out, const float* row, const Job& job, const float* ranges) {
    typedef typename Packed<KIND>::Words Words;
    const int per = Packed<KIND>::PER;
    if (!(job.formats & KIND)) return;
#pragma unroll
    for (int quad = 0; quad < QUADS; ++quad) {
        const int at = column(quad);
        const Words words = Packed<KIND>::of(row + 4 * quad, job, ranges, at);
        if (at < job.dimensions && at % per == 0) *reinterpret_cast<Words*>(out + at / per * 4) = words;
    }
    out += (job.dimensions + 4 * per - 1) / (4 * per) * 16;
}

template <typename Format, bool MEAN>
DEVICE void epilogue(
    const typename Format::stored* hidden, i32 width, const Job* jobs, const float* ranges, u8* out, u8* sound
) {
    __shared__ float parts[2][WARPS];
    const Job job = jobs[blockIdx.x];
    float row[4 * QUADS];
    pool_row<Format, MEAN>(hidden, width, job, row);
    if (job.normalize) divide(row, sqrtf(block_sum(sum_of_squares(row), parts[0])));
    u8* place = out + job.out;
    write<FLOAT32>(place, row, job, ranges);
    write<FLOAT16>(place, row, job, ranges);
    write<BFLOAT16>(place, row, job, ranges);
    write<INT8>(place, row, job, ranges);
    write<UINT8>(place, row, job, ranges);
    write<BINARY>(place, row, job, ranges);
    write<UBINARY>(place, row, job, ranges);
    const float nan = __uint_as_float(0x7FC00000u);
    const float length = sqrtf(block_sum(fits(row, job.formats) ? sum_of_squares(row) : nan, parts[1]));
    if (threadIdx.x == 0) {
        sound[blockIdx.x] = job.normalize ? fabsf(length - 1.0f) <= NORM_TOLERANCE : length > 0.0f;
    }
}
}  // namespace

#define ENTRY(name, Format, MEAN, BLOCKS)                                                                             \
    KERNEL(THREADS, BLOCKS) name(                                                                                     \
        const Format::stored* hidden, i32 width, const Job* jobs, const float* ranges, u8* out, u8* sound             \
    ) {                                                                                                               \
        epilogue<Format, MEAN>(hidden, width, jobs, ranges, out, sound);                                              \
    }
ENTRY(epilogue_one_float32, Float32, false, 2)
ENTRY(epilogue_one_float16, Float16, false, 2)
ENTRY(epilogue_one_bfloat16, BFloat16, false, 2)
ENTRY(epilogue_mean_float32, Float32, true, 1)
ENTRY(epilogue_mean_float16, Float16, true, 1)
ENTRY(epilogue_mean_bfloat16, BFloat16, true, 1)
