// uint8 RGB [height, width, 3] -> normalized patches [patches, 3 · 16 · 16] in merge order, each still frame once.
//
// A block takes 16 image rows × 8 patches. It reads them as they lie (16 bytes a thread, whole sectors), turns them
// around in shared memory, and writes them as patches lie (16 bytes a thread). Bytes moved: 3 read and 3 · sizeof(out)
// written a pixel, each once.
#include "numbers.cuh"

namespace {
const int PATCH = 16;
const int CHANNELS = 3;
const int TILE = 8;                                   // patches of a block
const int THREADS = 128;
const int PATCH_BYTES = PATCH * CHANNELS;             // of one patch in one image row: three vectors of 16
const int ROW_VECTORS = TILE * PATCH_BYTES / 16;
const int PITCH = TILE * PATCH_BYTES + 16;            // so that the 8-byte reads of half a warp meet no bank twice
const int PATCH_SIZE = CHANNELS * PATCH * PATCH;

/// x / 127.5 - 1, rounded as the division is: the quotient's error is computed exactly and put right (Markstein 1990).
/// tests/kernels compares all 256 values.
DEVICE float normalized(float x) {
    const float reciprocal = 1.0f / 127.5f;
    const float estimate = x * reciprocal;
    const float rest = fmaf(-127.5f, estimate, x);
    return fmaf(rest, reciprocal, estimate) - 1.0f;
}

template <typename Out>
DEVICE void patchify(const u8* pixels, typename Out::stored* patches, int width) {
    __shared__ Words4 vectors[PATCH * PITCH / 16];
    u8* tile = reinterpret_cast<u8*>(vectors);
    const int columns = width / PATCH, patch_row = blockIdx.y, first = blockIdx.x * TILE;
    const int count = least(TILE, columns - first);
    const i64 pitch = (i64)width * CHANNELS;
    const u8* corner = pixels + patch_row * PATCH * pitch + (i64)first * PATCH_BYTES;
#pragma unroll
    for (int step = 0; step < PATCH * ROW_VECTORS / THREADS; ++step) {
        const int at = step * THREADS + threadIdx.x, row = at / ROW_VECTORS, vector = at % ROW_VECTORS;
        if (vector < count * 3) {
            const Words4 found = reinterpret_cast<const Words4*>(corner + row * pitch)[vector];
            reinterpret_cast<Words4*>(tile + row * PITCH)[vector] = found;
        }
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < TILE * PATCH * 2 / THREADS; ++step) {
        const int at = step * THREADS + threadIdx.x, half = at % 2, y = at / 2 % PATCH, patch = at / (2 * PATCH);
        if (patch >= count) continue;
        u32 words[6];  // eight pixels
        const Words2* source = reinterpret_cast<const Words2*>(tile + y * PITCH + patch * PATCH_BYTES + half * 24);
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            words[2 * i] = source[i].word[0];
            words[2 * i + 1] = source[i].word[1];
        }
        const int column = first + patch;
        const i64 index = ((i64)(patch_row / 2) * (columns / 2) + column / 2) * 4 + patch_row % 2 * 2 + column % 2;
        typename Out::stored* place = patches + index * PATCH_SIZE + y * PATCH + half * 8;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; ++channel) {
            float values[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int byte = i * CHANNELS + channel;
                values[i] = normalized(byte_as_float(words[byte / 4], byte % 4));
            }
            store8<Out>(place + channel * PATCH * PATCH, values);
        }
    }
}
}  // namespace

KERNEL(THREADS) patchify_float32(const u8* pixels, float* patches, i32 width) {
    patchify<Float32>(pixels, patches, width);
}
KERNEL(THREADS) patchify_float16(const u8* pixels, u16* patches, i32 width) {
    patchify<Float16>(pixels, patches, width);
}
KERNEL(THREADS) patchify_bfloat16(const u8* pixels, u16* patches, i32 width) {
    patchify<BFloat16>(pixels, patches, width);
}
