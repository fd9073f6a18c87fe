/* A tile of a product: six rows by TILE_VECTORS, whose sums stay in registers while words go by. */
#include "lanes.h"

enum {
    PANEL = TILE_VECTORS * LANES, /* columns that lie together in packed memory: a tile reads it from start to end */
    FETCHED_WORDS = 1024,         /* from where memory is read to where it is asked for */
    LINE_WORDS = 16,
};

/* sums[rows][vectors] += a[rows][words] . b[words][width]; strides in words. Where `fetches`, b is not in a near cache. */
INLINE void add_products(const int rows, const int vectors, const int fetches, vector sums[TILE_ROWS][TILE_VECTORS],
                         const uint32_t *a, int64_t a_stride, const uint32_t *b, int64_t width, int64_t words) {
    for (int64_t word = 0; word < words; word++) {
        vector right[TILE_VECTORS];
        if (fetches)
#pragma GCC unroll 4
            for (int j = 0; j < vectors * LANES; j += LINE_WORDS) __builtin_prefetch(b + word * width + FETCHED_WORDS + j);
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) right[j] = take(b + word * width + j * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const vector left = all_words(a[i * a_stride + word]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) sums[i][j] = add_product(sums[i][j], left, right[j]);
        }
    }
}
