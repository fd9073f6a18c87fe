/* Numbers, lanes and threads that all kernels share. Every source is compiled for float32 and for bfloat16. */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

#if BFLOAT16
#define NAME(name) cenote_##name##_bfloat16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
typedef uint16_t number;
#else
#define NAME(name) cenote_##name##_float32
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
typedef float number;
#endif
#define INLINE static inline __attribute__((always_inline, unused)) TARGET

enum { LANES = 16 };

/* A word is what one lane multiplies: one float32, or two neighbouring bfloat16 (vdpbf16ps). */
enum { WORD_NUMBERS = sizeof(uint32_t) / sizeof(number) };

INLINE int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE __mmask16 lanes_up_to(int64_t num) {
    return num >= LANES ? 0xffff : num <= 0 ? 0 : (__mmask16)((1u << num) - 1);
}

/* Lanes that are not in the mask are 0, and stay as they are in memory. */
INLINE __m512 load(const number *from, __mmask16 in) {
#if BFLOAT16
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in, from)), 16));
#else
    return _mm512_maskz_loadu_ps(in, from);
#endif
}

INLINE void store(number *to, __m512 x, __mmask16 in) {
#if BFLOAT16
    _mm256_mask_storeu_epi16(to, in, (__m256i)_mm512_cvtneps_pbh(x));
#else
    _mm512_mask_storeu_ps(to, in, x);
#endif
}

/* 2^x for x <= 0, within 2e-7 of it; NaN stays NaN. The polynomial is that of Cephes' `exp2f`. */
INLINE __m512 exp2_of(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-126.0f), x);
    const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole);
    __m512 y = _mm512_set1_ps(1.535336188319500e-4f);
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(1.339887440266574e-3f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(9.618437357674640e-3f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(5.550332471162809e-2f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(2.402264791363012e-1f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(6.931472028550421e-1f));
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(y, whole);
}

/* x / 2 * (1 + erf(x / sqrt 2)). Source: Abramowitz and Stegun 1964, 7.1.26, for the error function (1.5e-7). */
INLINE __m512 gelu(__m512 x) {
    const __m512 z = _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(0.70710678f)), one = _mm512_set1_ps(1.0f);
    const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(z, _mm512_set1_ps(0.3275911f), one));
    __m512 y = _mm512_set1_ps(1.061405429f);
    y = _mm512_fmadd_ps(y, t, _mm512_set1_ps(-1.453152027f));
    y = _mm512_fmadd_ps(y, t, _mm512_set1_ps(1.421413741f));
    y = _mm512_fmadd_ps(y, t, _mm512_set1_ps(-0.284496736f));
    y = _mm512_fmadd_ps(y, t, _mm512_set1_ps(0.254829592f));
    const __m512 tail = exp2_of(_mm512_mul_ps(_mm512_mul_ps(z, z), _mm512_set1_ps(-1.44269504f)));
    const __m512 erf = _mm512_fnmadd_ps(_mm512_mul_ps(y, t), tail, one);
    const __mmask16 is_negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 signed_erf = _mm512_mask_sub_ps(erf, is_negative, _mm512_setzero_ps(), erf);
    return _mm512_mul_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.5f)), _mm512_add_ps(signed_erf, one));
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
