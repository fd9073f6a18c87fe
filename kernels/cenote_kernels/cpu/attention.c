/* Attention, compiled for each instruction set in float32, and for AVX-512 in bfloat16 too.
 *
 * out = softmax(scaling * Q K^T + mask) V, six queries at a time: their scores and weights stay in the first cache, a
 * block of keys and values in the second, and a running maximum and sum make blocks of keys one softmax. No matrix of
 * scores is ever made.
 *
 * Products are c[rows][columns] += a[rows][words] . b[words][columns], so keys are packed as [head_dim in words][keys]
 * and values as [keys in words][head_dim], once for all queries: in panels of PANEL columns, one behind the other, since a
 * tile reads a panel from its start to its end. Sums are float32 either way; weights of bfloat16 are rounded to it.
 *
 * Source: Dao 2023 (FlashAttention-2, arXiv 2307.08691); Intel's Intrinsics Guide.
 */
#include "tile.h"

enum {
    BLOCK_KEYS = 512,
    ITEM_ROWS = 72,    /* queries that a thread takes at a time */
    MAX_HEAD_DIM = 256,
    MAX_PARTS = 3,
};

/* A mirror of `_Source` and `_Arguments` in attention.py. Strides are in numbers: from token to token, head to head. */
typedef struct {
    const number *keys, *values;
    int64_t key_strides[2], value_strides[2];
} Source;

typedef struct {
    const number *query;
    number *out;
    int64_t query_strides[2], out_strides[2];
    Source sources[2];
    int64_t num_heads, num_kv_heads, head_dim;
    int64_t left, right;             /* keys that a query sees beside its own place; -1: all */
    int64_t num_segments;            /* of keys: source, first token, number of tokens, first packed place */
    const int64_t (*segments)[4];
    int64_t num_queries;             /* runs of queries: first token, number of tokens, parts */
    const int64_t (*queries)[2 + MAX_PARTS];
    int64_t num_places;              /* packed places of a head */
    uint32_t *packed_keys, *packed_values;
    int64_t num_threads;
    parallel_region parallel;
    float scaling;
} Arguments;

/* ---- products ---- */

/* c[rows][LANES * vectors] = (adds: +=) a[rows][words] . b[words][width]; strides in words */
INLINE void multiply_tile(const int rows, const int vectors, const uint32_t *a, int64_t a_stride, const uint32_t *b,
                          int64_t width, int64_t words, float *c, int64_t c_stride, int adds) {
    vector sums[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sums[i][j] = adds ? take(c + i * c_stride + j * LANES) : (vector){0};
    add_products(rows, vectors, 0, sums, a, a_stride, b, width, words);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) put(c + i * c_stride + j * LANES, sums[i][j]);
}

/* What is right of a product: panels of PANEL columns, but for the last. */
typedef struct {
    const uint32_t *words;
    int64_t num_words; /* of a column */
    int64_t first;     /* word of each column that the product begins at */
    int64_t width;     /* columns up to the last panel's end */
} Panels;

INLINE void multiply_panel(const int rows, const int vectors, const uint32_t *a, int64_t a_stride, const Panels *b,
                           int64_t column, int64_t words, float *c, int64_t c_stride, int adds) {
    const int64_t width = at_most(PANEL, b->width - column);
    multiply_tile(rows, vectors, a, a_stride, b->words + column * b->num_words + b->first * width, width, words,
                  c + column, c_stride, adds);
}

INLINE void multiply_rows(const int rows, const uint32_t *a, int64_t a_stride, const Panels *b, int64_t columns,
                          int64_t words, float *c, int64_t c_stride, int adds) {
    int64_t j = 0;
    for (; j + PANEL <= columns; j += PANEL) multiply_panel(rows, TILE_VECTORS, a, a_stride, b, j, words, c, c_stride, adds);
    switch ((columns - j) / LANES) {
#define VECTORS(n) case n: multiply_panel(rows, n % TILE_VECTORS, a, a_stride, b, j, words, c, c_stride, adds); break;
        VECTORS(3) VECTORS(2) VECTORS(1)
#undef VECTORS
    }
}

/* The same for any number of rows up to TILE_ROWS; `columns` is a multiple of LANES. */
static void multiply(int rows, const void *a_, int64_t a_stride, const Panels *b, int64_t columns,
                            int64_t words, float *c, int64_t c_stride, int adds) {
    const uint32_t *a = a_;
    switch (rows) {
        case 6: multiply_rows(6, a, a_stride, b, columns, words, c, c_stride, adds); break;
        case 5: multiply_rows(5, a, a_stride, b, columns, words, c, c_stride, adds); break;
        case 4: multiply_rows(4, a, a_stride, b, columns, words, c, c_stride, adds); break;
        case 3: multiply_rows(3, a, a_stride, b, columns, words, c, c_stride, adds); break;
        case 2: multiply_rows(2, a, a_stride, b, columns, words, c, c_stride, adds); break;
        case 1: multiply_rows(1, a, a_stride, b, columns, words, c, c_stride, adds); break;
    }
}

/* ---- softmax ---- */

/* Scores of one query to weights, of which those outside of [low, high) are 0; `num` is a multiple of LANES.
 * Returns the factor of what was summed up before this block. */
INLINE float soften(float *scores, int64_t low, int64_t high, int64_t num, float factor, number *weights,
                    float *highest, float *sum) {
    const vector lowest = all(-INFINITY);
    for (int64_t k = 0; k < low; k++) scores[k] = -INFINITY;
    for (int64_t k = high; k < num; k++) scores[k] = -INFINITY;
    vector top = lowest;
    for (int64_t k = 0; k < num; k += LANES) top = greatest(top, take(scores + k));
    const float before = *highest, now = fmaxf(before, greatest_of(top) * factor);
    vector total = {0};
    for (int64_t k = 0; k < num; k += LANES) {
        const vector score = take(scores + k);
        const vector weight = (vector)((bits)(score != lowest) & (bits)exp2_of(score * factor - now));
        total += weight;
        store(weights + k, weight, lanes_up_to(LANES));
    }
    const float kept = before == -INFINITY ? 0.0f : exp2f(before - now);
    *highest = now;
    *sum = *sum * kept + sum_of(total);
    return kept;
}

/* ---- packing ---- */

/* `[tokens][head_dim]` to panels of `[words of head_dim][PANEL tokens]` */
static void pack_keys(const number *keys, int64_t stride, int64_t num, int64_t words, uint32_t *packed) {
    for (int64_t token = 0; token < num; token += LANES) {
        const int64_t panel = token / PANEL * PANEL, width = at_most(PANEL, round_up(num, LANES) - panel);
        pack_columns(keys + token * stride, stride, at_most(LANES, num - token), words,
                     packed + panel * words + token - panel, width);
    }
}

/* `[tokens][head_dim]` to panels of `[words of tokens][PANEL of head_dim]` */
static void pack_values(const number *values, int64_t stride, int64_t num, int64_t head_dim, uint32_t *packed) {
    const int64_t end = round_up(num, LANES), words = end / WORD_NUMBERS;
    for (int64_t token = 0; token < end; token += WORD_NUMBERS) {
        const number *from = values + token * stride;
        for (int64_t d = 0; d < head_dim; d += LANES) {
            const int64_t panel = d / PANEL * PANEL, width = at_most(PANEL, round_up(head_dim, LANES) - panel);
            const lanes in = token < num ? lanes_up_to(head_dim - d) : 0;
#if BFLOAT16
            const vector x = load_pairs(from + d, in, from + d + stride, token + 1 < num ? in : 0);
#else
            const vector x = load(from + d, in);
#endif
            put(packed + panel * words + token / WORD_NUMBERS * width + d - panel, x);
        }
    }
}

INLINE int64_t key_words(const Arguments *a) { return a->head_dim / WORD_NUMBERS; }
INLINE uint32_t *keys_of(const Arguments *a, int64_t segment, int64_t kv_head) {
    return a->packed_keys + (kv_head * a->num_places + a->segments[segment][3]) * key_words(a);
}
INLINE uint32_t *values_of(const Arguments *a, int64_t segment, int64_t kv_head) {
    const int64_t place = kv_head * a->num_places + a->segments[segment][3];
    return a->packed_values + place / WORD_NUMBERS * round_up(a->head_dim, LANES);
}

static void pack_some(void *data) {
    Work *work = data;
    const Arguments *a = work->arguments;
    for (int64_t item; (item = next_item(work)) < work->num_items;) {
        const int64_t segment = item / a->num_kv_heads, head = item % a->num_kv_heads;
        const int64_t *of = a->segments[segment], first = of[1], num = of[2];
        const Source *source = a->sources + of[0];
        pack_keys(source->keys + first * source->key_strides[0] + head * source->key_strides[1],
                  source->key_strides[0], num, key_words(a), keys_of(a, segment, head));
        pack_values(source->values + first * source->value_strides[0] + head * source->value_strides[1],
                    source->value_strides[0], num, a->head_dim, values_of(a, segment, head));
    }
}

/* ---- attention ---- */

/* What a few queries have seen so far. */
typedef struct {
    float mixed[TILE_ROWS * MAX_HEAD_DIM] __attribute__((aligned(64)));
    float highest[TILE_ROWS], sums[TILE_ROWS];
    int sees[TILE_ROWS]; /* whether the window has left a key to the query */
    int is_begun;
} Mixture;

/* One block of keys. The query at row i sees [lows[i], highs[i]) of it. */
INLINE void add_block(const Arguments *a, Mixture *mixture, int rows, const number *query, const Panels *keys,
                      const Panels *values, int64_t num, const int64_t *lows, const int64_t *highs) {
    const int64_t dim = round_up(a->head_dim, LANES), columns = round_up(num, LANES);
    float scores[TILE_ROWS * BLOCK_KEYS] __attribute__((aligned(64)));
    number weights[TILE_ROWS * BLOCK_KEYS] __attribute__((aligned(64)));
    multiply(rows, query, a->query_strides[0] / WORD_NUMBERS, keys, columns, key_words(a), scores, BLOCK_KEYS, 0);
    for (int i = 0; i < rows; i++) {
        mixture->sees[i] |= lows[i] < highs[i];
        const float kept = soften(scores + i * BLOCK_KEYS, lows[i], highs[i], columns, a->scaling * 1.44269504f,
                                  weights + i * BLOCK_KEYS, mixture->highest + i, mixture->sums + i);
        for (int64_t d = 0; mixture->is_begun && d < dim; d += LANES) {
            float *at = mixture->mixed + i * MAX_HEAD_DIM + d;
            put(at, take(at) * kept);
        }
    }
    multiply(rows, weights, BLOCK_KEYS / WORD_NUMBERS, values, dim, columns / WORD_NUMBERS, mixture->mixed,
             MAX_HEAD_DIM, mixture->is_begun);
    mixture->is_begun = 1;
}

/* One segment of keys for a stripe of queries: all of it where `is_own` is 0, else what the window leaves; the last query
 * stands at the last key. Each block of keys goes to all tiles of the stripe while it lies in the second cache. */
INLINE void add_segment(const Arguments *a, Mixture *mixtures, int64_t num_rows, const number *query, int64_t segment,
                        int64_t kv_head, int is_own, int64_t place) {
    const int64_t num = a->segments[segment][2], width = round_up(num, LANES), dim = round_up(a->head_dim, LANES);
    const int64_t left = is_own ? a->left : -1, right = is_own ? a->right : -1;
    const int64_t start = left < 0 ? 0 : at_least(0, place - left) / PANEL * PANEL;
    const int64_t stop = right < 0 ? num : at_most(num, place + num_rows + right);
    const uint32_t *keys = keys_of(a, segment, kv_head), *values = values_of(a, segment, kv_head);
    for (int64_t block = start; block < stop; block += BLOCK_KEYS) {
        const Panels of_keys = {keys + block * key_words(a), key_words(a), 0, width - block};
        const Panels of_values = {values, width / WORD_NUMBERS, block / WORD_NUMBERS, dim};
        for (int64_t row = 0; row < num_rows; row += TILE_ROWS) {
            const int rows = (int)at_most(TILE_ROWS, num_rows - row);
            const int64_t first = place + row, end = right < 0 ? num : at_most(num, first + rows + right);
            const int64_t size = at_most(BLOCK_KEYS, end - block);
            if (size <= 0 || (left >= 0 && first - left >= block + size)) continue;
            int64_t lows[TILE_ROWS], highs[TILE_ROWS];
            for (int i = 0; i < rows; i++) {
                lows[i] = left < 0 ? 0 : at_most(size, at_least(0, first + i - left - block));
                highs[i] = right < 0 ? size : at_least(lows[i], at_most(size, first + i + right + 1 - block));
            }
            add_block(a, mixtures + row / TILE_ROWS, rows, query + row * a->query_strides[0], &of_keys, &of_values, size,
                      lows, highs);
        }
    }
}

INLINE void begin(Mixture *mixture) {
    mixture->is_begun = 0;
    for (int i = 0; i < TILE_ROWS; i++)
        mixture->highest[i] = -INFINITY, mixture->sums[i] = 0.0f, mixture->sees[i] = 0;
}

/* Scores that are all -inf give 0 / 0, not zeros. */
INLINE void end(const Arguments *a, const Mixture *mixture, int rows, number *out) {
    for (int i = 0; i < rows; i++, out += a->out_strides[0]) {
        const float share = 1.0f / mixture->sums[i];
        for (int64_t d = 0; d < a->head_dim; d += LANES) {
            const vector mixed = take(mixture->mixed + i * MAX_HEAD_DIM + d) * share;
            store(out + d, mixture->sees[i] ? mixed : (vector){0}, lanes_up_to(a->head_dim - d));
        }
    }
}

static void attend_stripe(const Arguments *a, int64_t run, int64_t head, int64_t row, int64_t num_rows) {
    const int64_t *of = a->queries[run], token = of[0] + row, *parts = of + 2;
    const int64_t kv_head = head / (a->num_heads / a->num_kv_heads);
    const number *query = a->query + token * a->query_strides[0] + head * a->query_strides[1];
    number *out = a->out + token * a->out_strides[0] + head * a->out_strides[1];
    Mixture mixtures[ITEM_ROWS / TILE_ROWS];
    for (int64_t tile = 0; tile * TILE_ROWS < num_rows; tile++) begin(mixtures + tile);
    for (int part = 0; part < MAX_PARTS; part++) {
        if (parts[part] < 0) continue;
        const int is_own = part == MAX_PARTS - 1;
        const int64_t place = row + (is_own && a->right >= 0 ? at_least(0, a->segments[parts[part]][2] - of[1]) : 0);
        add_segment(a, mixtures, num_rows, query, parts[part], kv_head, is_own, place);
    }
    for (int64_t i = 0; i < num_rows; i += TILE_ROWS)
        end(a, mixtures + i / TILE_ROWS, (int)at_most(TILE_ROWS, num_rows - i), out + i * a->out_strides[0]);
}

INLINE int64_t items_of(const Arguments *a, int64_t run) {
    return (a->queries[run][1] + ITEM_ROWS - 1) / ITEM_ROWS * a->num_heads;
}

/* An item is a stripe of queries of one head. Head by head, whose keys and values stay in the last cache meanwhile; a
 * head's last stripe comes first, since it sees the most keys. */
static void attend_some(void *data) {
    Work *work = data;
    const Arguments *a = work->arguments;
    int64_t first = 0, run = 0;
    for (int64_t item; (item = next_item(work)) < work->num_items;) {
        while (item >= first + items_of(a, run)) first += items_of(a, run++);
        const int64_t num_stripes = items_of(a, run) / a->num_heads, head = (item - first) / num_stripes;
        const int64_t start = (num_stripes - 1 - (item - first) % num_stripes) * ITEM_ROWS;
        attend_stripe(a, run, head, start, at_most(ITEM_ROWS, a->queries[run][1] - start));
    }
}

/* ---- what attention.py calls ---- */

int NAME(lanes)(void) { return LANES; }

void NAME(attend)(const Arguments *a) {
    int64_t num_items = 0;
    for (int64_t run = 0; run < a->num_queries; run++) num_items += items_of(a, run);
    share_out(pack_some, a, a->num_segments * a->num_kv_heads, a->num_threads, a->parallel);
    share_out(attend_some, a, num_items, a->num_threads, a->parallel);
}
