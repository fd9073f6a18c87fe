/* What is done to rows in one pass: a decoder's root-mean-square norms and turned heads, and vectors of unit length.
 *
 * Everything is computed in float32 and rounded once. Source: Zhang and Sennrich 2019 (arXiv 1910.07467); Su et al. 2021
 * (arXiv 2104.09864).
 */
#include "lanes.h"

enum { ITEM_NUMBERS = 1 << 14 };

/* A mirror of `_Norm` in rows.py. Strides are in numbers, from row to row. */
typedef struct {
    const number *x;
    number *out;
    const float *weight; /* [width] */
    int64_t num_rows, width, x_stride, out_stride;
    int64_t num_threads;
    parallel_region parallel;
    float epsilon;
} Norm;

/* A mirror of `_Turn` in rows.py. Strides are from row to row and from head to head. */
typedef struct {
    const number *x;
    number *out;
    const float *weight;    /* [heads][head_dim], or none: then heads are not normed */
    const float *cos, *sin; /* [rows][head_dim / 2] */
    int64_t num_rows, num_heads, head_dim;
    int64_t x_strides[2], out_strides[2];
    int64_t num_threads;
    parallel_region parallel;
    float epsilon;
} Turn;

/* A mirror of `_Unit` in rows.py. */
typedef struct {
    const number *x; /* [rows][x_stride] */
    number *out;     /* [rows][width] */
    uint8_t *is_valid;
    int64_t num_rows, width, x_stride;
    int32_t normalizes, may_be_zero;
    float tolerance;
} Unit;

INLINE float sum_of_squares(const number *x, int64_t width) {
    vector squares = {0};
    for (int64_t i = 0; i < width; i += LANES) {
        const vector value = load(x + i, lanes_up_to(width - i));
        squares += value * value;
    }
    return sum_of(squares);
}

INLINE float rms_factor(const number *x, int64_t width, float epsilon) {
    return 1.0f / sqrtf(sum_of_squares(x, width) / (float)width + epsilon);
}

static void norm_some(void *data) {
    Work *work = data;
    const Norm *a = work->arguments;
    const int64_t num_of_item = at_least(1, ITEM_NUMBERS / a->width);
    for (int64_t item; (item = next_item(work)) < work->num_items;) {
        for (int64_t row = item * num_of_item; row < at_most((item + 1) * num_of_item, a->num_rows); row++) {
            const number *x = a->x + row * a->x_stride;
            number *out = a->out + row * a->out_stride;
            const float factor = rms_factor(x, a->width, a->epsilon);
            for (int64_t i = 0; i < a->width; i += LANES) {
                const lanes in = lanes_up_to(a->width - i);
                store(out + i, load(x + i, in) * factor * load_floats(a->weight + i, in), in);
            }
        }
    }
}

INLINE void turn_head(const Turn *a, const number *x, number *out, const float *weight, const float *cos,
                      const float *sin) {
    const int64_t half = a->head_dim / 2;
    const float factor = weight ? rms_factor(x, a->head_dim, a->epsilon) : 1.0f;
    for (int64_t i = 0; i < half; i += LANES) {
        const lanes in = lanes_up_to(half - i);
        vector first = load(x + i, in), second = load(x + half + i, in);
        if (weight) {
            first = first * factor * load_floats(weight + i, in);
            second = second * factor * load_floats(weight + half + i, in);
        }
        const vector c = load_floats(cos + i, in), s = load_floats(sin + i, in);
        store(out + i, first * c - second * s, in);
        store(out + half + i, second * c + first * s, in);
    }
}

INLINE int64_t turned_rows_of_item(const Turn *a) { return at_least(1, ITEM_NUMBERS / (a->num_heads * a->head_dim)); }

static void turn_some(void *data) {
    Work *work = data;
    const Turn *a = work->arguments;
    const int64_t num_of_item = turned_rows_of_item(a), half = a->head_dim / 2;
    for (int64_t item; (item = next_item(work)) < work->num_items;) {
        for (int64_t row = item * num_of_item; row < at_most((item + 1) * num_of_item, a->num_rows); row++) {
            for (int64_t head = 0; head < a->num_heads; head++)
                turn_head(a, a->x + row * a->x_strides[0] + head * a->x_strides[1],
                          a->out + row * a->out_strides[0] + head * a->out_strides[1],
                          a->weight ? a->weight + head * a->head_dim : 0, a->cos + row * half, a->sin + row * half);
        }
    }
}

void NAME(rms_norm)(const Norm *a) {
    const int64_t num_of_item = at_least(1, ITEM_NUMBERS / a->width);
    share_out(norm_some, a, (a->num_rows + num_of_item - 1) / num_of_item, a->num_threads, a->parallel);
}

void NAME(turn_heads)(const Turn *a) {
    const int64_t num_of_item = turned_rows_of_item(a);
    share_out(turn_some, a, (a->num_rows + num_of_item - 1) / num_of_item, a->num_threads, a->parallel);
}

/* Rows of unit length, or as they are; a row is valid where it is finite and as long as it must be. */
void NAME(unit_rows)(const Unit *a) {
    const int64_t width = a->width;
    for (int64_t row = 0; row < a->num_rows; row++) {
        const number *x = a->x + row * a->x_stride;
        number *out = a->out + row * width;
        const float length = sqrtf(sum_of_squares(x, width));
        vector after = {0}, odd = {0}; /* NaN where a number is no finite one */
        for (int64_t i = 0; i < width; i += LANES) {
            const lanes in = lanes_up_to(width - i);
            const vector value = a->normalizes ? load(x + i, in) / length : load(x + i, in);
            odd += value - value;
            after += value * value;
            store(out + i, value, in);
        }
        const float norm = sqrtf(sum_of(after));
        const int has_length = a->normalizes ? fabsf(norm - 1.0f) <= a->tolerance : norm > 0.0f || a->may_be_zero;
        a->is_valid[row] = sum_of(odd) == 0.0f && has_length;
    }
}
