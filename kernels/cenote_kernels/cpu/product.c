/* Products of rows with a fixed weight: out = ending(x W^T + b).
 *
 * A tile is six rows by a panel of outputs, on AVX-512 64, 24 registers of sums. Weights are packed once, when they are
 * loaded, panel behind panel, [words of inputs][PANEL], so that a tile reads a panel from its start to its end; of a panel
 * as many words as lie in the second cache beside the rows go to all tiles of an item before the next. Panels are shared
 * out one by one: a thread whose core does something else takes fewer.
 *
 * What follows a product is done to the sums before they are stored: in bfloat16 it is rounded once, at its end.
 *
 * Source: Goto and van de Geijn 2008, Anatomy of High-Performance Matrix Multiplication; Intel's Intrinsics Guide.
 */
#include "tile.h"

enum {
    BLOCK_WORDS = 1024, /* of a panel that are multiplied at a time: 256 KiB */
    ITEM_ROWS = 258,    /* rows at most that a thread takes at a time */
};

/* As in product.py. */
enum { PLAIN, GELU_ERF, GELU_TANH, ADD, GATE };

/* A mirror of `_Product` in product.py. Strides are in numbers. */
typedef struct {
    const number *x;
    const uint32_t *weight;
    const number *bias; /* or NULL */
    number *out;
    int64_t num_rows, num_words, num_outputs; /* of `out`, which with GATE has half as many as the weight */
    int64_t x_stride, out_stride;
    int64_t ending; /* ADD: to what is in `out` */
    int64_t num_threads;
    parallel_region parallel;
} Product;

/* 1 / (1 + exp(-x)) */
INLINE vector sigmoid(vector x) {
    const vector e = exp2_of(magnitude(x) * -1.44269504f);
    const bits is_negative = (bits)(x < 0.0f);
    return (vector)((is_negative & (bits)e) | (~is_negative & (bits)all(1.0f))) / (1.0f + e);
}

/* x / 2 * (1 + tanh(u)) = x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
INLINE vector gelu_by_tanh(vector x) {
    return x * sigmoid(x * (x * x * (0.044715f * 1.59576912f) + 1.59576912f));
}

/* The sums of some rows of a panel to `out`. */
static void end_tile(const Product *p, const float *sums, int64_t num_rows, int64_t row, int64_t panel) {
    number *out = p->out + row * p->out_stride;
    for (int64_t i = 0; i < num_rows; i++, sums += PANEL, out += p->out_stride) {
        if (p->ending == GATE) {
            for (int64_t j = 0; j < PANEL / 2; j += LANES) {
                const int64_t column = panel * PANEL / 2 + j;
                const vector gate = take(sums + j), up = take(sums + PANEL / 2 + j);
                store(out + column, gate * sigmoid(gate) * up, lanes_up_to(p->num_outputs - column));
            }
            continue;
        }
        for (int64_t j = 0; j < PANEL; j += LANES) {
            const int64_t column = panel * PANEL + j;
            const lanes in = lanes_up_to(p->num_outputs - column);
            vector y = take(sums + j);
            if (p->bias) y += load(p->bias + column, in);
            if (p->ending == GELU_ERF) y = gelu(y);
            if (p->ending == GELU_TANH) y = gelu_by_tanh(y);
            if (p->ending == ADD) y += load(out + column, in);
            store(out + column, y, in);
        }
    }
}

/* Some rows with `words` words of a panel: to their sums, from those of the words before where there are any. The first
 * rows of an item fetch the panel. */
INLINE void multiply_tile(const int rows, const int fetches, const Product *p, int64_t row, int64_t panel, int64_t first,
                          int64_t words, float *between) {
    const int64_t stride = p->x_stride / WORD_NUMBERS;
    const uint32_t *x = (const uint32_t *)p->x + row * stride + first;
    const uint32_t *weight = p->weight + (panel * p->num_words + first) * PANEL;
    vector sums[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++)
            sums[i][j] = first ? take(between + i * PANEL + j * LANES) : (vector){0};
    add_products(rows, TILE_VECTORS, fetches, sums, x, stride, weight, PANEL, words);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) put(between + i * PANEL + j * LANES, sums[i][j]);
}

static void multiply(int64_t rows, int fetches, const Product *p, int64_t row, int64_t panel, int64_t first, int64_t words,
                     float *between) {
    switch (2 * rows + fetches) {
#define ROWS(n) \
    case 2 * n: multiply_tile(n, 0, p, row, panel, first, words, between); break; \
    case 2 * n + 1: multiply_tile(n, 1, p, row, panel, first, words, between); break;
        ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#undef ROWS
    }
}

INLINE int64_t panels_of(const Product *p) {
    const int64_t width = p->ending == GATE ? PANEL / 2 : PANEL;
    return (p->num_outputs + width - 1) / width;
}

/* Rows of an item: in equal parts of up to ITEM_ROWS, in smaller ones where threads would be left without an item. */
INLINE int64_t rows_of_item(const Product *p) {
    const int64_t for_cache = (p->num_rows + ITEM_ROWS - 1) / ITEM_ROWS;
    const int64_t for_threads = (2 * p->num_threads + panels_of(p) - 1) / panels_of(p);
    const int64_t parts = at_least(for_cache, at_most(for_threads, (p->num_rows + TILE_ROWS - 1) / TILE_ROWS));
    return round_up((p->num_rows + parts - 1) / parts, TILE_ROWS);
}

/* An item is a panel for some rows; items of one panel follow each other, so that threads read the same weights. */
static void multiply_some(void *data) {
    Work *work = data;
    const Product *p = work->arguments;
    const int64_t item_rows = rows_of_item(p), num_parts = (p->num_rows + item_rows - 1) / item_rows;
    float between[ITEM_ROWS * PANEL] __attribute__((aligned(64)));
    for (int64_t item; (item = next_item(work)) < work->num_items;) {
        const int64_t panel = item / num_parts, start = item % num_parts * item_rows;
        const int64_t num_rows = at_most(item_rows, p->num_rows - start), num_tiles = (num_rows + TILE_ROWS - 1) / TILE_ROWS;
        for (int64_t first = 0; first < p->num_words; first += BLOCK_WORDS)
            for (int64_t tile = 0; tile < num_tiles; tile++) {
                const int64_t row = num_rows * tile / num_tiles, rows = num_rows * (tile + 1) / num_tiles - row;
                const int64_t words = at_most(BLOCK_WORDS, p->num_words - first);
                multiply(rows, tile == 0, p, start + row, panel, first, words, between + row * PANEL);
                if (first + words == p->num_words) end_tile(p, between + row * PANEL, rows, start + row, panel);
            }
    }
}

int NAME(panel)(void) { return PANEL; }

void NAME(multiply)(const Product *p) {
    const int64_t item_rows = rows_of_item(p);
    share_out(multiply_some, p, panels_of(p) * ((p->num_rows + item_rows - 1) / item_rows), p->num_threads, p->parallel);
}
