/* A tile of a product on AVX-512: six rows by 64 columns, whose 24 sums stay in registers while words go by. */
#include "lanes.h"

enum {
    TILE_ROWS = 6,
    TILE_VECTORS = 4,
    PANEL = TILE_VECTORS * LANES, /* columns that lie together in packed memory: a tile reads it from start to end */
};

/* sum + a . b, word by word; float32 either way */
INLINE __m512 multiply_add(__m512 sum, __m512i a, __m512i b) {
#if BFLOAT16
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#else
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
#endif
}

/* sums[rows][vectors] += a[rows][words] . b[words][width]; strides in words */
INLINE void add_products(const int rows, const int vectors, __m512 sums[TILE_ROWS][TILE_VECTORS], const uint32_t *a,
                         int64_t a_stride, const uint32_t *b, int64_t width, int64_t words) {
    for (int64_t word = 0; word < words; word++) {
        __m512i right[TILE_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) right[j] = _mm512_loadu_si512(b + word * width + j * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const __m512i left = _mm512_set1_epi32((int32_t)a[i * a_stride + word]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) sums[i][j] = multiply_add(sums[i][j], left, right[j]);
        }
    }
}
