// Rows of image features into rows of the packed batch: written over them, or added to them.
//
// A block takes one row; `index` says where it goes. `features` may be a column range of a wider tensor, so the
// deepstack levels are read where they lie. Bytes moved: a row read and a row written, and for `add` the target read.
#include "numbers.cuh"

namespace {
const int THREADS = 128;

template <typename Format, bool ADD>
DEVICE void scatter(
    typename Format::stored* target, const i64* index, const typename Format::stored* features, i64 pitch, i32 width,
    i64 rows
) {
    typedef Vector16<Format> Vector;
    const i64 row = index[blockIdx.x];
    if (row < 0 || row >= rows) __trap();  // as torch asserts: a wrong index is a bug, and must never be a wrong vector
    const typename Format::stored* source = features + blockIdx.x * pitch;
    typename Format::stored* place = target + row * width;
    for (int at = threadIdx.x * Vector::LANES; at < width; at += THREADS * Vector::LANES) {
        if (ADD) {
            float left[Vector::LANES], right[Vector::LANES];
            Vector::load(place + at, left);
            Vector::load(source + at, right);
#pragma unroll
            for (int i = 0; i < Vector::LANES; ++i) left[i] += right[i];
            Vector::store(place + at, left);
        } else {
            *reinterpret_cast<Words4*>(place + at) = *reinterpret_cast<const Words4*>(source + at);
        }
    }
}
}  // namespace

#define ENTRY(name, Format, ADD)                                                                                      \
    KERNEL(THREADS) name(                                                                                             \
        Format::stored* target, const i64* index, const Format::stored* features, i64 pitch, i32 width, i64 rows      \
    ) {                                                                                                               \
        scatter<Format, ADD>(target, index, features, pitch, width, rows);                                            \
    }
ENTRY(scatter_copy_float32, Float32, false)
ENTRY(scatter_copy_float16, Float16, false)
ENTRY(scatter_copy_bfloat16, BFloat16, false)
ENTRY(scatter_add_float32, Float32, true)
ENTRY(scatter_add_float16, Float16, true)
ENTRY(scatter_add_bfloat16, BFloat16, true)
