// Pillow's bicubic resize of uint8 RGB, byte for byte: a pass along each axis, rounded and clipped in between.
//
// Coefficients are 22-bit fixed point and come from the host (cenote_kernels/bicubic.py). All sums are 32-bit integers,
// so their order is free. Bytes moved: each pass reads its rows once and writes its own once.
#include "numbers.cuh"

namespace {
const int PRECISION_BITS = 32 - 8 - 2;
const int HALF = 1 << (PRECISION_BITS - 1);
const int COLUMNS = 32;          // of a block of the horizontal pass
const int ROWS = 16;
const int THREADS = 128;
const int ROWS_A_WARP = ROWS / (THREADS / 32);
const int LINES = 8;             // output rows of a block of the vertical pass

DEVICE u8 clipped(i32 sum) { return (u8)least(greatest(sum >> PRECISION_BITS, 0), 255); }
DEVICE i32 byte_of(u32 word, int at) { return (i32)(word >> (8 * at) & 0xFFu); }

/// Four bytes from a place that is a multiple of 4, or fewer one by one; what is missing is 0.
DEVICE u32 load_bytes(const u8* place, int count, bool aligned) {
    if (aligned && count >= 4) return *reinterpret_cast<const u32*>(place);
    u32 word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i < count) word |= (u32)place[i] << (8 * i);
    }
    return word;
}
DEVICE void store_bytes(u8* place, u32 word, int count, bool aligned) {
    if (aligned && count >= 4) {
        *reinterpret_cast<u32*>(place) = word;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i < count) place[i] = (u8)(word >> (8 * i) & 0xFFu);
    }
}

struct Image {
    const u8* bytes;
    i64 pitch;      // bytes from one row to the next
    int width;      // in pixels
    bool aligned;   // every row begins at a multiple of 4
};

/// A tile's pixels in shared memory, one word a pixel: red in the lowest byte.
struct Staged {
    const u32* words;
    int span, start;
    DEVICE u32 pixel(int row, int x) const { return words[row * span + x - start]; }
};
/// The same straight from the image, for spans that shared memory cannot hold.
struct Direct {
    Image image;
    int first_row, last_row;
    DEVICE u32 pixel(int row, int x) const {
        const u8* place = image.bytes + least(first_row + row, last_row) * image.pitch + (i64)x * 3;
        return place[0] | (u32)place[1] << 8 | (u32)place[2] << 16;
    }
};

/// Fills `words` [ROWS, span] with the pixels from `start` on; a thread takes four pixels, which are three words.
DEVICE void stage(const Image& image, int first_row, int rows, int start, int end, int span, u32* words) {
    for (int row = threadIdx.x / 32; row < ROWS; row += THREADS / 32) {
        if (first_row + row >= rows) break;
        const u8* line = image.bytes + (first_row + row) * image.pitch;
        for (int x = start + threadIdx.x % 32 * 4; x < end; x += 32 * 4) {
            const int count = least(4, image.width - x) * 3;
            u32 raw[3];
#pragma unroll
            for (int i = 0; i < 3; ++i) raw[i] = load_bytes(line + (i64)x * 3 + 4 * i, count - 4 * i, image.aligned);
            Words4 pixels;
            pixels.word[0] = raw[0] & 0xFFFFFFu;
            pixels.word[1] = raw[0] >> 24 | (raw[1] & 0xFFFFu) << 8;
            pixels.word[2] = raw[1] >> 16 | (raw[2] & 0xFFu) << 16;
            pixels.word[3] = raw[2] >> 8;
            *reinterpret_cast<Words4*>(words + row * span + x - start) = pixels;
        }
    }
}

/// One output column of four rows: each coefficient is read once for all four.
template <typename Source>
DEVICE void sum_columns(
    const Source& source, const i32* bounds, const i32* coefficients, int out_width, int column, int first, u8* tile
) {
    i32 sums[ROWS_A_WARP][3];
#pragma unroll
    for (int row = 0; row < ROWS_A_WARP; ++row) sums[row][0] = sums[row][1] = sums[row][2] = HALF;
    const int from = bounds[2 * column], count = bounds[2 * column + 1];
    for (int tap = 0; tap < count; ++tap) {
        const i32 coefficient = coefficients[(i64)tap * out_width + column];
#pragma unroll
        for (int row = 0; row < ROWS_A_WARP; ++row) {
            const u32 word = source.pixel(first + row, from + tap);
#pragma unroll
            for (int channel = 0; channel < 3; ++channel) sums[row][channel] += byte_of(word, channel) * coefficient;
        }
    }
#pragma unroll
    for (int row = 0; row < ROWS_A_WARP; ++row) {
#pragma unroll
        for (int channel = 0; channel < 3; ++channel) {
            tile[(first + row) * COLUMNS * 3 + threadIdx.x % 32 * 3 + channel] = clipped(sums[row][channel]);
        }
    }
}

/// A block's 16 rows × 32 columns. `span` is the width of the staged tile in pixels, a multiple of 4; 0 stages nothing.
DEVICE void blend_columns(
    const Image& image, int rows, const i32* bounds, const i32* coefficients, u8* out, i64 out_pitch, int out_width,
    int span
) {
    DYNAMIC_SHARED(Words4, staged);
    __shared__ Words4 vectors[ROWS * COLUMNS * 3 / 16];
    u8* tile = reinterpret_cast<u8*>(vectors);
    u32* words = reinterpret_cast<u32*>(staged);
    const int first_row = blockIdx.y * ROWS, first = blockIdx.x * COLUMNS;
    const int last = least(first + COLUMNS, out_width) - 1, column = first + threadIdx.x % 32;
    const int row_of_warp = threadIdx.x / 32 * ROWS_A_WARP, start = bounds[2 * first] / 4 * 4;
    if (span) {
        stage(image, first_row, rows, start, bounds[2 * last] + bounds[2 * last + 1], span, words);
        __syncthreads();
        const Staged source = {words, span, start};
        if (column <= last) sum_columns(source, bounds, coefficients, out_width, column, row_of_warp, tile);
    } else {
        const Direct source = {image, first_row, rows - 1};
        if (column <= last) sum_columns(source, bounds, coefficients, out_width, column, row_of_warp, tile);
    }
    __syncthreads();
    const int bytes = (last + 1 - first) * 3;
    for (int at = threadIdx.x; at < ROWS * COLUMNS * 3 / 4; at += THREADS) {
        const int row = at / (COLUMNS * 3 / 4), byte = at % (COLUMNS * 3 / 4) * 4;
        if (first_row + row >= rows) break;
        const u32 word = *reinterpret_cast<const u32*>(tile + row * COLUMNS * 3 + byte);
        u8* place = out + (first_row + row) * out_pitch + (i64)first * 3 + byte;
        store_bytes(place, word, bytes - byte, out_pitch % 4 == 0);
    }
}
}  // namespace

/// `coefficients` is [taps, out_width]: neighboring threads read neighboring words.
KERNEL(THREADS) resize_horizontal(
    const u8* pixels, i64 pitch, i32 width, i32 rows, i32 aligned, const i32* bounds, const i32* coefficients, u8* out,
    i64 out_pitch, i32 out_width, i32 span
) {
    const Image image = {pixels, pitch, width, aligned != 0};
    blend_columns(image, rows, bounds, coefficients, out, out_pitch, out_width, span);
}

/// A warp takes 128 bytes of one output row; its coefficients [out_height, taps] are the same for all its threads.
KERNEL(32 * LINES) resize_vertical(
    const u8* pixels, i64 pitch, i32 row_bytes, i32 aligned, const i32* bounds, const i32* coefficients, i32 taps,
    u8* out, i64 out_pitch, i32 out_height
) {
    const int row = blockIdx.y * LINES + threadIdx.x / 32, byte = (blockIdx.x * 32 + threadIdx.x % 32) * 4;
    if (row >= out_height || byte >= row_bytes) return;
    const int from = bounds[2 * row], count = bounds[2 * row + 1];
    const i32* weights = coefficients + (i64)row * taps;
    const u8* source = pixels + from * pitch + byte;
    i32 sums[4] = {HALF, HALF, HALF, HALF};
#pragma unroll 4
    for (int tap = 0; tap < count; ++tap) {
        const u32 word = load_bytes(source + tap * pitch, row_bytes - byte, aligned != 0);
        const i32 weight = weights[tap];
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[i] += byte_of(word, i) * weight;
    }
    u32 packed = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) packed |= (u32)clipped(sums[i]) << (8 * i);
    store_bytes(out + row * out_pitch + byte, packed, row_bytes - byte, out_pitch % 4 == 0);
}
