/* Rows of float32 as JSON arrays, each number in the fewest digits that give it back, as many at once as registers hold.
 *
 * x is scaled by a power of ten to nine digits before the point, exactly but for the rounding of one product. The nearest
 * multiple of 10, of 100 and so on is taken as long as it is nearer to x than half the distance to the next float32:
 * the shortest digits that round to x, and of those the nearest (Steele and White 1990, "How to print floating-point
 * numbers accurately", in doubles, which have 29 bits more than x). Where the doubles cannot tell, or x is none of what
 * this is for, the row is left to the caller: 0, powers of two, 1 and above, below 1e-13, and what is no number. */
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* What differs by the registers: how many doubles they hold, and whether a mask has any lane. */
#if defined(__AVX512F__)
enum { LANES = 8 };
#define ANY(mask) (_mm512_test_epi64_mask((__m512i)(mask), (__m512i)(mask)) != 0)
#elif defined(__AVX2__)
enum { LANES = 4 };
#define ANY(mask) (!_mm256_testz_si256((__m256i)(mask), (__m256i)(mask)))
#else
enum { LANES = 2 };
#define ANY(mask) (((mask)[0] | (mask)[1]) != 0)
#endif

#define JOIN(name, variant) cenote_##name##_##variant
#define EXPAND(name, variant) JOIN(name, variant)
#define NAME(name) EXPAND(name, VARIANT)
#define INLINE static inline __attribute__((always_inline))
#define VECTOR(lane) __attribute__((vector_size(LANES * sizeof(lane))))

enum { DIGITS = 9, MAX_PLAIN_ZEROS = 5 };

typedef float Floats VECTOR(float);
typedef double Doubles VECTOR(double);
typedef int64_t Longs VECTOR(int64_t);
typedef uint32_t Ints VECTOR(int64_t); /* two in a lane */
typedef uint16_t Shorts VECTOR(int64_t);

/* Of what the doubles are off by at most 3e-7. */
static const double MARGIN = 1e-6;

/* Added to what is below 2^51, it leaves the nearest whole number, ties to even, in the lowest bits. */
static const double WHOLE = 0x1.8p52;

INLINE Doubles all(double value) { return value - (Doubles){0}; }
INLINE Doubles nearest_whole(Doubles x) { return x + WHOLE - WHOLE; }
INLINE Doubles magnitude(Doubles x) { return (Doubles)((Longs)x & INT64_MAX); }

/* A mask is what a comparison gives: -1 where it holds, 0 elsewhere. */
INLINE Doubles choose(Longs mask, Doubles yes, Doubles no) {
    return (Doubles)((mask & (Longs)yes) | (~mask & (Longs)no));
}

/* Numbers up to 99,999,999 as eight characters each. Source: the divisions of integers are those of compilers. */
INLINE Longs eight_digits(Doubles numbers) {
    const Doubles high = nearest_whole((numbers - 4999.5) * 1e-4), low = numbers - high * 1e4;
    Ints x = (Ints)((Longs)(low * 0x1p32 + high + 0x1p52) ^ (Longs)all(0x1p52));
    const Ints hundreds = (x * 5243) >> 19; /* x / 100 */
    x = hundreds | (x - hundreds * 100) << 16;
    const Shorts pairs = (Shorts)x, tens = (pairs * 103) >> 10; /* pairs / 10 */
    return (Longs)(tens | (pairs - tens * 10) << 8 | 0x3030);
}

typedef struct {
    int64_t first[LANES], others[LANES]; /* the first digit in the lowest byte, the eight behind it as characters */
    int64_t is_negative[LANES], num_digits[LANES], num_zeros[LANES];
} Decimals;

/* The decimals of some numbers; 0 where one of them is not for this function. */
INLINE int to_decimals(Floats given, Decimals *out) {
    const Doubles wide = __builtin_convertvector(given, Doubles), x = magnitude(wide);
    const Longs bits = (Longs)x, exponent = bits & (0x7ffLL << 52), is_negative = ((Longs)wide ^ bits) != 0;
    if (ANY(~((x >= 1e-13) & (x < 1.0)) | (bits == exponent)))
        return 0;

    Doubles scale = all(1e9), scaled = x * scale;
    Longs zeros = {0}, num_digits = zeros + DIGITS;
    do
        for (int twice = 0; twice < 2; twice++) { /* nearly always needed: a branch that is guessed costs more */
            const Longs is_below = scaled < 1e8;
            zeros -= is_below;
            scale = choose(is_below, scale * 10, scale); /* exact up to 1e22 */
            scaled = x * scale;
        }
    while (ANY(scaled < 1e8));

    const Doubles reach = scale * (Doubles)(exponent - (24LL << 52)); /* 2.9 to 60 */
    Doubles nearest = nearest_whole(scaled), distance = magnitude(scaled - nearest), tie = all(0.5 - MARGIN);
    Longs shortens = ~(Longs){0}, is_unsure = {0};
    double step = 10, inverse = 0.1;
    for (int dropped = 1; dropped < DIGITS; dropped++) {
        const Doubles shorter = nearest_whole(scaled * inverse) * step, away = magnitude(scaled - shorter);
        const Doubles room = reach - away;
        is_unsure |= shortens & (magnitude(room) < MARGIN);
        shortens &= room > 0;
        if (dropped > 2 && !ANY(shortens)) /* as above */
            break;
        nearest = choose(shortens, shorter, nearest);
        distance = choose(shortens, away, distance);
        tie = choose(shortens, all(step * 0.5 - MARGIN), tie);
        num_digits += shortens;
        step *= 10;
        inverse *= 0.1;
    }
    if (ANY(is_unsure | (distance > tie)))
        return 0;

    const Longs is_rounded_up = nearest >= 1e9; /* to 0.01, say */
    nearest = choose(is_rounded_up, all(1e8), nearest);
    zeros += is_rounded_up;
    const Doubles first = (nearest - 49999999.5) * 1e-8 + WHOLE;
    const Longs others = eight_digits(nearest - (first - WHOLE) * 1e8);
    memcpy(out->first, &first, sizeof first);
    memcpy(out->others, &others, sizeof others);
    memcpy(out->is_negative, &is_negative, sizeof is_negative);
    memcpy(out->num_digits, &num_digits, sizeof num_digits);
    memcpy(out->num_zeros, &zeros, sizeof zeros);
    return 1;
}

/* One number: 0.00123, or 1.23e-7 behind more than five zeros. Up to 24 bytes are written, 17 of them are the number's. */
INLINE char *print_number(char *to, const Decimals *of, int lane) {
    const int64_t zeros = of->num_zeros[lane], num_digits = of->num_digits[lane];
    const char first = (char)('0' + of->first[lane]);
    *to = '-';
    to -= of->is_negative[lane];
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
        Floats given;
        if (num_here == LANES)
            memcpy(&given, row + start, sizeof given);
        else
            for (int lane = 0; lane < LANES; lane++)
                given[lane] = lane < num_here ? row[start + lane] : 0.3f; /* any number that is not left to the caller */
        if (!to_decimals(given, &decimals))
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
