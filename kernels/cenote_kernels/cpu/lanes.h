/* Numbers, lanes and threads that all kernels share, and all that differs between instruction sets.
 *
 * Vectors are the compiler's own (GCC's and clang's vector extensions): kernels are written with operators, once for every
 * width. build_native.py compiles each source for each instruction set, and on AVX-512 once more for bfloat16.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define JOIN(name, variant) cenote_##name##_##variant
#define EXPAND(name, variant) JOIN(name, variant)
#define NAME(name) EXPAND(name, VARIANT)
#define INLINE static inline __attribute__((always_inline, unused))

/* A word is what one lane multiplies: one float32, or two neighbouring bfloat16 (vdpbf16ps). */
#if BFLOAT16
typedef uint16_t number;
#else
typedef float number;
#endif
enum { WORD_NUMBERS = sizeof(uint32_t) / sizeof(number) };

INLINE int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

/* Registers hold the sums of a tile of a product: TILE_ROWS by TILE_VECTORS, in encoder.c SHORT_ROWS by SHORT_VECTORS. */
#if defined __AVX512F__
enum { LANES = 16, TILE_VECTORS = 4, SHORT_ROWS = 14, SHORT_VECTORS = 2 };
#elif defined __AVX2__
enum { LANES = 8, TILE_VECTORS = 2, SHORT_ROWS = 6, SHORT_VECTORS = 2 };
#elif defined __ARM_NEON
enum { LANES = 4, TILE_VECTORS = 4, SHORT_ROWS = 6, SHORT_VECTORS = 4 };
#endif
enum { TILE_ROWS = 6 };

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t bits __attribute__((vector_size(LANES * sizeof(float))));
typedef float unaligned_vector __attribute__((vector_size(LANES * sizeof(float)), aligned(2), may_alias));

INLINE vector take(const void *from) { return *(const unaligned_vector *)from; }
INLINE void put(void *to, vector x) { *(unaligned_vector *)to = x; }
INLINE vector all(float x) { return x - (vector){0}; }
INLINE vector all_words(uint32_t x) { return (vector)(x + (bits){0}); }
INLINE vector magnitude(vector x) { return (vector)((bits)x & 0x7fffffffu); }

/* Of each instruction set:
 *   lanes_up_to        some first lanes; load, store: those alone are read, the others 0, and written
 *   greatest           of two; the second where either is NaN, or NaN
 *   nearest            whole number
 *   times_power        x * 2^whole, -126 <= whole <= 0
 *   sum_of, greatest_of   of all lanes
 *   pack_columns       words of some rows, as columns of LANES, `width` apart; 0 where there is no row
 *   pause_briefly      between two looks at what another thread writes
 */
#if defined __AVX512F__
#include <immintrin.h>

typedef __mmask16 lanes;
INLINE lanes lanes_up_to(int64_t num) { return num >= LANES ? 0xffff : num <= 0 ? 0 : (lanes)((1u << num) - 1); }
INLINE vector load_floats(const float *from, lanes in) { return _mm512_maskz_loadu_ps(in, from); }
INLINE vector greatest(vector a, vector b) { return _mm512_max_ps(a, b); }
INLINE vector nearest(vector x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vector times_power(vector x, vector whole) { return _mm512_scalef_ps(x, whole); }
INLINE float sum_of(vector x) { return _mm512_reduce_add_ps(x); }
INLINE float greatest_of(vector x) { return _mm512_reduce_max_ps(x); }
INLINE void pause_briefly(void) { _mm_pause(); }
INLINE void pack_columns(const number *from, int64_t stride, int64_t num, int64_t words, uint32_t *to, int64_t width) {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i rows = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int32_t)stride)), zeros = _mm512_setzero_si512();
    for (int64_t word = 0; word < words; word++, from += WORD_NUMBERS, to += width)
        put(to, (vector)_mm512_mask_i32gather_epi32(zeros, lanes_up_to(num), rows, from, sizeof(number)));
}
#if BFLOAT16
INLINE vector load(const number *from, lanes in) {
    return (vector)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in, from)), 16);
}
INLINE void store(number *to, vector x, lanes in) { _mm256_mask_storeu_epi16(to, in, (__m256i)_mm512_cvtneps_pbh(x)); }
/* words of the numbers of two rows */
INLINE vector load_pairs(const number *first, lanes in_first, const number *second, lanes in_second) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in_first, first));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in_second, second));
    return (vector)_mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
INLINE vector add_product(vector sum, vector a, vector b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
#else
INLINE void store(number *to, vector x, lanes in) { _mm512_mask_storeu_ps(to, in, x); }
#endif

#else
typedef int64_t lanes;
INLINE lanes lanes_up_to(int64_t num) { return at_most(LANES, at_least(0, num)); }
INLINE vector load_floats(const float *from, lanes in) {
    if (in == LANES) return take(from);
    vector x = {0};
    memcpy(&x, from, (size_t)in * sizeof(float));
    return x;
}
INLINE void store(number *to, vector x, lanes in) {
    if (in == LANES)
        put(to, x);
    else
        memcpy(to, &x, (size_t)in * sizeof(float));
}
INLINE void pack_columns(const number *from, int64_t stride, int64_t num, int64_t words, uint32_t *to, int64_t width) {
    for (int64_t row = 0; row < LANES; row++, from += stride)
        for (int64_t word = 0; word < words; word++) ((float *)to)[word * width + row] = row < num ? from[word] : 0.0f;
}

#if defined __AVX2__
#include <immintrin.h>

INLINE vector greatest(vector a, vector b) { return _mm256_max_ps(a, b); }
INLINE vector nearest(vector x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vector times_power(vector x, vector whole) {
    return x * (vector)(((bits)_mm256_cvtps_epi32(whole) << 23) + 0x3f800000u);
}
INLINE float sum_of(vector x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float greatest_of(vector x) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
INLINE void pause_briefly(void) { _mm_pause(); }

#elif defined __ARM_NEON
#include <arm_neon.h>

INLINE vector greatest(vector a, vector b) { return vmaxq_f32(a, b); }
INLINE vector nearest(vector x) { return vrndnq_f32(x); }
INLINE vector times_power(vector x, vector whole) {
    return x * (vector)(((bits)vcvtq_s32_f32(whole) << 23) + 0x3f800000u);
}
INLINE float sum_of(vector x) { return vaddvq_f32(x); }
INLINE float greatest_of(vector x) { return vmaxvq_f32(x); }
INLINE void pause_briefly(void) { __asm__ volatile("yield"); }
#endif
#endif

#if !BFLOAT16
INLINE vector load(const number *from, lanes in) { return load_floats(from, in); }
/* sum + a . b, word by word; float32 either way */
INLINE vector add_product(vector sum, vector a, vector b) { return sum + a * b; }
#endif

/* 2^x for x <= 0, within 2e-7 of it; NaN stays NaN. The polynomial is that of Cephes' `exp2f`. */
INLINE vector exp2_of(vector x) {
    x = greatest(all(-126.0f), x);
    const vector whole = nearest(x), f = x - whole;
    vector y = all(1.535336188319500e-4f);
    y = y * f + 1.339887440266574e-3f;
    y = y * f + 9.618437357674640e-3f;
    y = y * f + 5.550332471162809e-2f;
    y = y * f + 2.402264791363012e-1f;
    y = y * f + 6.931472028550421e-1f;
    return times_power(y * f + 1.0f, whole);
}

/* x / 2 * (1 + erf(x / sqrt 2)). Source: Abramowitz and Stegun 1964, 7.1.26, for the error function (1.5e-7). */
INLINE vector gelu(vector x) {
    const vector z = magnitude(x) * 0.70710678f, t = 1.0f / (z * 0.3275911f + 1.0f);
    vector y = all(1.061405429f);
    y = y * t - 1.453152027f;
    y = y * t + 1.421413741f;
    y = y * t - 0.284496736f;
    y = y * t + 0.254829592f;
    const vector erf = 1.0f - y * t * exp2_of(z * z * -1.44269504f);
    const vector signed_erf = (vector)((bits)erf ^ ((bits)x & 0x80000000u));
    return x * 0.5f * (signed_erf + 1.0f);
}

/* libgomp's `GOMP_parallel` */
typedef void (*parallel_region)(void (*body)(void *), void *data, unsigned num_threads, unsigned flags);

/* Items 0 to num_items, each for the thread that comes next. */
typedef struct {
    const void *arguments;
    int64_t num_items, next;
} Work;

INLINE int64_t next_item(Work *work) { return __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED); }

INLINE void share_out(void (*body)(void *), const void *arguments, int64_t num_items, int64_t num_threads,
                      parallel_region parallel) {
    Work work = {arguments, num_items, 0};
    if (num_threads > 1)
        parallel(body, &work, (unsigned)num_threads, 0);
    else
        body(&work);
}
