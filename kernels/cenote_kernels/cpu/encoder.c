/* BERT's layers for one prompt of few tokens, in one call: a lone short query reads every weight once, and the calls
 * around its products cost as much as they do.
 *
 * Threads share each product by its outputs and meet at a barrier behind it; a layer norm's rows are so few that each
 * thread computes all of them for itself. Weights are packed as [outputs / BLOCK][inputs][BLOCK], so that a thread streams
 * through its own from the first to the last, and up to SHORT_ROWS rows are multiplied by what is read.
 *
 * Source: Devlin et al. 2018 (arXiv 1810.04805).
 */
#include "lanes.h"

#if !BFLOAT16
#include <sched.h>

enum { BLOCK = SHORT_VECTORS * LANES, MAX_TOKENS = 64, SPINS = 1 << 14, AHEAD = 1024, LINE = 16 };

/* A mirror of `_Layer` in encoder.py. */
typedef struct {
    const float *query_key_value, *query_key_value_bias, *out, *out_bias, *attention_norm, *attention_norm_bias;
    const float *widen, *widen_bias, *narrow, *narrow_bias, *output_norm, *output_norm_bias;
    float attention_epsilon, output_epsilon;
} Layer;

/* A mirror of `_Forward` in encoder.py. */
typedef struct {
    const float *words, *positions, *norm, *norm_bias;
    const Layer *layers;
    int64_t num_words, num_positions, num_layers, width, intermediate, num_heads;
    const int64_t *token_ids, *places;
    float *out, *memory; /* [num_tokens][width]; [num_tokens][5 * width + intermediate + 2 * threads * width] */
    int64_t num_tokens, num_keys, num_threads;
    parallel_region parallel;
    int (*thread_number)(void), (*team_size)(void);
    float epsilon;
} Forward;

typedef struct {
    const Forward *forward;
    int num_waiting, round;
} Team;

INLINE void meet(Team *team, int size) {
    const int round = __atomic_load_n(&team->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&team->num_waiting, 1, __ATOMIC_ACQ_REL) == size) {
        __atomic_store_n(&team->num_waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int spin = 0; __atomic_load_n(&team->round, __ATOMIC_ACQUIRE) == round; spin++) {
        pause_briefly();
        if (spin >= SPINS) sched_yield();
    }
}

typedef struct {
    const float *x, *weight, *bias, *residual;
    float *out;
    int64_t num_rows, inputs, outputs;
    int is_gelu;
} Product;

/* A block of outputs of a few rows */
INLINE void multiply_tile(const int rows, const Product *p, int64_t row, int64_t block) {
    const float *x = p->x + row * p->inputs, *weight = p->weight + block * BLOCK * p->inputs;
    vector sums[SHORT_ROWS][SHORT_VECTORS];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < SHORT_VECTORS; j++) sums[i][j] = take(p->bias + block * BLOCK + j * LANES);
    for (int64_t k = 0; k < p->inputs; k++, weight += BLOCK) {
        vector right[SHORT_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < SHORT_VECTORS; j++) right[j] = take(weight + j * LANES);
#pragma GCC unroll 2
        for (int64_t line = 0; line < BLOCK; line += LINE) __builtin_prefetch(weight + AHEAD + line);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            const vector left = all(x[i * p->inputs + k]);
#pragma GCC unroll 4
            for (int j = 0; j < SHORT_VECTORS; j++) sums[i][j] += left * right[j];
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < SHORT_VECTORS; j++)
            put(p->out + (row + i) * p->outputs + block * BLOCK + j * LANES, sums[i][j]);
}

/* Apart, so that its numbers take no register of the sums. */
static __attribute__((noinline)) void end_tile(const Product *p, int64_t row, int64_t end, int64_t block) {
    for (; row < end; row++)
        for (int64_t at = row * p->outputs + block * BLOCK, stop = at + BLOCK; at < stop; at += LANES) {
            const vector y = take(p->out + at);
            put(p->out + at, p->is_gelu ? gelu(y) : y + take(p->residual + at));
        }
}

/* out = x W^T + b, then GELU or plus a residual: the part of one thread */
static void multiply(const Product *p, int thread, int size) {
    const int64_t num_blocks = p->outputs / BLOCK, first = num_blocks * thread / size;
    const int64_t num_tiles = (p->num_rows + SHORT_ROWS - 1) / SHORT_ROWS;
    for (int64_t block = first; block < num_blocks * (thread + 1) / size; block++)
        for (int64_t tile = 0; tile < num_tiles; tile++) {
            const int64_t row = p->num_rows * tile / num_tiles, end = p->num_rows * (tile + 1) / num_tiles;
            switch (end - row) {
#define ROWS(n) case n: multiply_tile(n <= SHORT_ROWS ? n : 1, p, row, block); break;
                ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7)
                ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#undef ROWS
            }
            if (p->is_gelu || p->residual) end_tile(p, row, end, block);
        }
}

static void layer_norm(const float *x, int64_t num_rows, int64_t width, const float *weight, const float *bias,
                              float epsilon, float *out) {
    for (int64_t row = 0; row < num_rows; row++, x += width, out += width) {
        vector sum = {0}, squares = {0};
        for (int64_t i = 0; i < width; i += LANES) sum += take(x + i);
        const float mean = sum_of(sum) / (float)width;
        for (int64_t i = 0; i < width; i += LANES) {
            const vector apart = take(x + i) - mean;
            squares += apart * apart;
        }
        const float factor = 1.0f / sqrtf(sum_of(squares) / (float)width + epsilon);
        for (int64_t i = 0; i < width; i += LANES) {
            put(out + i, (take(x + i) - mean) * factor * take(weight + i) + take(bias + i));
        }
    }
}

/* Attention of one head over heads [tokens][3 * width]: queries, keys, values. */
static void attend(const Forward *f, const float *heads, int64_t head, float *mixed) {
    const int64_t dim = f->width / f->num_heads, stride = 3 * f->width, used = round_up(f->num_keys, LANES);
    const float factor = 1.44269504f / sqrtf((float)dim), *query = heads + head * dim;
    float weights[MAX_TOKENS] __attribute__((aligned(64)));
    for (int64_t i = 0; i < f->num_tokens; i++, query += stride) {
        const float *key = heads + f->width + head * dim, *value = key + f->width;
        float highest = -INFINITY;
        for (int64_t j = 0; j < f->num_keys; j++, key += stride) {
            vector sum = {0};
            for (int64_t d = 0; d < dim; d += LANES) sum += take(query + d) * take(key + d);
            weights[j] = sum_of(sum) * factor;
            highest = fmaxf(highest, weights[j]);
        }
        for (int64_t j = f->num_keys; j < used; j++) weights[j] = -INFINITY;
        vector total = {0};
        for (int64_t j = 0; j < used; j += LANES) {
            put(weights + j, exp2_of(take(weights + j) - highest));
            total += load(weights + j, lanes_up_to(f->num_keys - j));
        }
        const float share = 1.0f / sum_of(total);
        for (int64_t d = 0; d < dim; d += LANES) {
            vector sum = {0};
            for (int64_t j = 0; j < f->num_keys; j++) sum += weights[j] * take(value + j * stride + d);
            put(mixed + i * f->width + head * dim + d, sum * share);
        }
    }
}

static void run_layers(void *data) {
    Team *team = data;
    const Forward *f = team->forward;
    const int size = f->num_threads > 1 ? f->team_size() : 1, thread = size > 1 ? f->thread_number() : 0;
    const int64_t rows = f->num_tokens, width = f->width, num = rows * width;
    float *heads = f->memory, *mixed = heads + 3 * num, *sums = mixed + num, *wide = sums + num;
    float *states = wide + rows * f->intermediate + thread * 2 * num, *between = states + num;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < width; i += LANES) {
            const vector word = take(f->words + f->token_ids[row] * width + i);
            put(between + row * width + i, word + take(f->positions + f->places[row] * width + i));
        }
    layer_norm(between, rows, width, f->norm, f->norm_bias, f->epsilon, states);
    for (const Layer *layer = f->layers; layer < f->layers + f->num_layers; layer++) {
        multiply(&(Product){states, layer->query_key_value, layer->query_key_value_bias, 0, heads, rows, width,
                            3 * width, 0}, thread, size);
        meet(team, size);
        for (int64_t head = f->num_heads * thread / size; head < f->num_heads * (thread + 1) / size; head++)
            attend(f, heads, head, mixed);
        meet(team, size);
        multiply(&(Product){mixed, layer->out, layer->out_bias, states, sums, rows, width, width, 0}, thread, size);
        meet(team, size);
        layer_norm(sums, rows, width, layer->attention_norm, layer->attention_norm_bias, layer->attention_epsilon,
                   between);
        multiply(&(Product){between, layer->widen, layer->widen_bias, 0, wide, rows, width, f->intermediate, 1},
                 thread, size);
        meet(team, size);
        multiply(&(Product){wide, layer->narrow, layer->narrow_bias, between, sums, rows, f->intermediate, width, 0},
                 thread, size);
        meet(team, size);
        layer_norm(sums, rows, width, layer->output_norm, layer->output_norm_bias, layer->output_epsilon, states);
    }
    if (thread == 0)
        for (int64_t i = 0; i < num; i += LANES) put(f->out + i, take(states + i));
}

INLINE int is_within(int64_t number, int64_t num) { return number >= 0 && number < num; }

int NAME(block)(void) { return BLOCK; }

/* Returns 0, or 1 where a number has no row in its table or there are too many tokens: then nothing is computed. */
int NAME(encoder)(const Forward *forward) {
    if (forward->num_tokens > MAX_TOKENS || !is_within(forward->num_keys - 1, forward->num_tokens)) return 1;
    for (int64_t row = 0; row < forward->num_tokens; row++)
        if (!is_within(forward->token_ids[row], forward->num_words) ||
            !is_within(forward->places[row], forward->num_positions))
            return 1;
    Team team = {forward, 0, 0};
    if (forward->num_threads > 1)
        forward->parallel(run_layers, &team, (unsigned)forward->num_threads, 0);
    else
        run_layers(&team);
    return 0;
}
#endif
