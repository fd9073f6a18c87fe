/* Rows of float32 as JSON arrays, each number in the fewest digits that give it back, 8 at once.
 *
 * x is scaled by a power of ten to nine digits before the point, exactly but for the rounding of one product. The nearest
 * multiple of 10, of 100 and so on is taken as long as it is nearer to x than half the distance to the next float32:
 * the shortest digits that round to x, and of those the nearest (Steele and White 1990, "How to print floating-point
 * numbers accurately", in doubles, which have 29 bits more than x). Where the doubles cannot tell, or x is none of what
 * this is for, the row is left to the caller: 0, powers of two, 1 and above, below 1e-13, and what is no number. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define JOIN(name, variant) cenote_##name##_##variant
#define EXPAND(name, variant) JOIN(name, variant)
#define NAME(name) EXPAND(name, VARIANT)
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8, DIGITS = 9, MAX_PLAIN_ZEROS = 5 };

/* Of what the doubles are off by at most 3e-7. */
static const double MARGIN = 1e-6;

/* By the number of zeros behind the point: what gives x its nine digits (exact up to 1e22), and the bound below which x
 * has one more. */
static const double SCALES[16] = {1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
                                  1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 0,    0};
static const double BOUNDS[16] = {1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6, 1e-7, 1e-8,
                                  1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 0,    0,    0};

INLINE __m512d look_up(const double *table, __m512i at) {
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), at, _mm512_loadu_pd(table + LANES));
}

/* Eight numbers up to 99,999,999 as eight characters each. Source: the divisions by constants are those of compilers. */
INLINE __m512i eight_digits(__m512i numbers) {
    const __m512i high = _mm512_srli_epi64(_mm512_mul_epu32(numbers, _mm512_set1_epi64(3518437209u)), 45); /* / 10,000 */
    const __m512i low = _mm512_sub_epi64(numbers, _mm512_mul_epu32(high, _mm512_set1_epi64(10000)));
    __m512i x = _mm512_or_si512(high, _mm512_slli_epi64(low, 32));
    __m512i tens = _mm512_srli_epi32(_mm512_mullo_epi32(x, _mm512_set1_epi32(5243)), 19); /* / 100 */
    x = _mm512_sub_epi32(x, _mm512_mullo_epi32(tens, _mm512_set1_epi32(100)));
    x = _mm512_or_si512(tens, _mm512_slli_epi32(x, 16));
    tens = _mm512_srli_epi16(_mm512_mullo_epi16(x, _mm512_set1_epi16(103)), 10); /* / 10 */
    x = _mm512_sub_epi16(x, _mm512_mullo_epi16(tens, _mm512_set1_epi16(10)));
    return _mm512_or_si512(_mm512_or_si512(tens, _mm512_slli_epi16(x, 8)), _mm512_set1_epi8('0'));
}

typedef struct {
    uint64_t first[LANES], others[LANES]; /* the first digit as a number, the eight behind it as characters */
    uint64_t num_digits[LANES], num_zeros[LANES];
    unsigned negative;
} Decimals;

/* The decimals of eight numbers; 0 where one of them is not for this function. */
INLINE int to_decimals(__m256 given, Decimals *out) {
    const __m512d one_tenth = _mm512_set1_pd(0.1), x = _mm512_abs_pd(_mm512_cvtps_pd(given));
    const __m512i exponent = _mm512_srli_epi64(_mm512_castpd_si512(x), 52); /* biased by 1023 */
    unsigned left_out = _mm512_cmp_pd_mask(x, _mm512_set1_pd(1e-13), _CMP_NGE_UQ);
    left_out |= _mm512_cmp_pd_mask(x, _mm512_set1_pd(1.0), _CMP_NLT_UQ);
    left_out |= _mm256_testn_epi32_mask(_mm256_castps_si256(given), _mm256_set1_epi32(0x7fffff));
    if (left_out)
        return 0;

    /* log10(2) is 1233 / 4096 within 2e-4; that is one zero too few where x is below the bound */
    const __m512i below_one = _mm512_sub_epi64(_mm512_set1_epi64(1022), exponent);
    __m512i zeros = _mm512_srli_epi64(_mm512_mul_epu32(below_one, _mm512_set1_epi64(1233)), 12);
    const __mmask8 has_more = _mm512_cmp_pd_mask(x, look_up(BOUNDS, zeros), _CMP_LT_OQ);
    zeros = _mm512_mask_add_epi64(zeros, has_more, zeros, _mm512_set1_epi64(1));

    const __m512d scale = look_up(SCALES, zeros), scaled = _mm512_mul_pd(x, scale);
    const __m512i half_step = _mm512_slli_epi64(_mm512_sub_epi64(exponent, _mm512_set1_epi64(24)), 52);
    const __m512d reach = _mm512_mul_pd(scale, _mm512_castsi512_pd(half_step)); /* 2.9 to 60 */
    __m512d nearest = _mm512_roundscale_pd(scaled, _MM_FROUND_TO_NEAREST_INT);
    __m512d distance = _mm512_abs_pd(_mm512_sub_pd(scaled, nearest)), tie = _mm512_set1_pd(0.5 - MARGIN);
    __m512i num_digits = _mm512_set1_epi64(DIGITS);
    __mmask8 shortens = 0xff, is_unsure = 0;
    __m512d step = _mm512_set1_pd(10), inverse = one_tenth;
    for (int dropped = 1; dropped < DIGITS; dropped++) {
        const __m512d whole = _mm512_roundscale_pd(_mm512_mul_pd(scaled, inverse), _MM_FROUND_TO_NEAREST_INT);
        const __m512d shorter = _mm512_mul_pd(whole, step), away = _mm512_abs_pd(_mm512_sub_pd(scaled, shorter));
        const __m512d room = _mm512_sub_pd(reach, away);
        is_unsure |= _mm512_mask_cmp_pd_mask(shortens, _mm512_abs_pd(room), _mm512_set1_pd(MARGIN), _CMP_LT_OQ);
        shortens = _mm512_mask_cmp_pd_mask(shortens, room, _mm512_setzero_pd(), _CMP_GT_OQ);
        if (!shortens)
            break;
        nearest = _mm512_mask_mov_pd(nearest, shortens, shorter);
        distance = _mm512_mask_mov_pd(distance, shortens, away);
        tie = _mm512_mask_mov_pd(tie, shortens, _mm512_fmsub_pd(step, _mm512_set1_pd(0.5), _mm512_set1_pd(MARGIN)));
        num_digits = _mm512_mask_sub_epi64(num_digits, shortens, num_digits, _mm512_set1_epi64(1));
        step = _mm512_mul_pd(step, _mm512_set1_pd(10));
        inverse = _mm512_mul_pd(inverse, one_tenth);
    }
    is_unsure |= _mm512_cmp_pd_mask(distance, tie, _CMP_GT_OQ);
    if (is_unsure)
        return 0;

    __m512i number = _mm512_cvtpd_epi64(nearest);
    const __mmask8 is_rounded_up = _mm512_cmpge_epi64_mask(number, _mm512_set1_epi64(1000000000)); /* to 0.01, say */
    number = _mm512_mask_mov_epi64(number, is_rounded_up, _mm512_set1_epi64(100000000));
    zeros = _mm512_mask_sub_epi64(zeros, is_rounded_up, zeros, _mm512_set1_epi64(1));
    const __m512i first = _mm512_srli_epi64(_mm512_mul_epu32(number, _mm512_set1_epi64(1441151881)), 57); /* / 1e8 */
    const __m512i others = _mm512_sub_epi64(number, _mm512_mul_epu32(first, _mm512_set1_epi64(100000000)));
    _mm512_storeu_si512(out->first, first);
    _mm512_storeu_si512(out->others, eight_digits(others));
    _mm512_storeu_si512(out->num_digits, num_digits);
    _mm512_storeu_si512(out->num_zeros, zeros);
    out->negative = (unsigned)_mm256_movemask_ps(given);
    return 1;
}

/* One number: 0.00123, or 1.23e-7 behind more than five zeros. Up to 24 bytes are written, 17 of them are the number's. */
INLINE char *print_number(char *to, const Decimals *of, int lane) {
    const uint64_t zeros = of->num_zeros[lane], num_digits = of->num_digits[lane];
    const char first = (char)('0' + of->first[lane]);
    *to = '-';
    to += of->negative >> lane & 1;
    if (zeros <= MAX_PLAIN_ZEROS) {
        memcpy(to, "0.00000", 8);
        to += 2 + zeros;
        *to++ = first;
        memcpy(to, &of->others[lane], 8);
        return to + num_digits - 1;
    }
    *to++ = first;
    if (num_digits > 1) {
        *to++ = '.';
        memcpy(to, &of->others[lane], 8);
        to += num_digits - 1;
    }
    memcpy(to, zeros < 9 ? "e-" : "e-1", 3);
    to += zeros < 9 ? 2 : 3;
    *to++ = (char)('0' + (zeros + 1) % 10);
    return to;
}

/* One row; NULL where it is left to the caller. */
INLINE char *print_row(const float *row, int64_t num, char *to) {
    Decimals decimals;
    *to++ = '[';
    for (int64_t start = 0; start < num; start += LANES) {
        const int num_here = num - start < LANES ? (int)(num - start) : LANES;
        const __m256 filling = _mm256_set1_ps(0.3f); /* any number that is not left to the caller */
        if (!to_decimals(_mm256_mask_loadu_ps(filling, (__mmask8)((1u << num_here) - 1), row + start), &decimals))
            return NULL;
        for (int lane = 0; lane < num_here; lane++) {
            to = print_number(to, &decimals, lane);
            *to++ = ',';
        }
    }
    to[-(num > 0)] = ']';
    return to + (num == 0);
}

/* rows: float32 [num_rows, dimensions]; text: 18 bytes for each number, 2 for each row and 24; ends [num_rows]: where
 * each row's text ends. A row that is left to the caller has none. */
void NAME(print_rows)(const float *rows, int64_t num_rows, int64_t dimensions, char *text, int64_t *ends) {
    char *to = text;
    for (int64_t row = 0; row < num_rows; row++) {
        char *end = print_row(rows + row * dimensions, dimensions, to);
        if (end != NULL)
            to = end;
        ends[row] = to - text;
    }
}
