// Number formats as raw words, and the few words of CUDA that every kernel here uses.
//
// No header of the toolkit is included, so NVRTC needs none. Whatever is not plain C++ stands in this file, and
// tests/kernels/shim gives the same names to a C++ compiler: the kernels are then proven on a CPU, thread by thread.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef long long i64;

#ifdef __CUDACC__
#define DEVICE __device__ __forceinline__
#endif

/// Threads of a block at most and, where a number follows, how many such blocks a processor must have room for.
#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)

struct alignas(16) Words4 {
    u32 word[4];
};
struct alignas(8) Words2 {
    u32 word[2];
};

DEVICE int least(int a, int b) { return a < b ? a : b; }

/// Byte `at` (0..3) of a word as a float. 0x4B000000 is 2^23, whose last mantissa bit is worth 1: no slow conversion.
DEVICE float byte_as_float(u32 word, int at) {
    return __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7440u | at)) - 8388608.0f;
}

struct Float32 {
    typedef float stored;
    static DEVICE float read(stored x) { return x; }
    static DEVICE stored write(float x) { return x; }
};

struct BFloat16 {
    typedef u16 stored;
    static DEVICE float read(stored x) { return __uint_as_float((u32)x << 16); }
    /// Round to nearest, ties to even; a NaN stays a NaN.
    static DEVICE stored write(float x) {
        const u32 bits = __float_as_uint(x);
        if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;
        return (stored)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
    }
};

struct Float16 {
    typedef u16 stored;
#ifdef __CUDACC__
    static DEVICE float read(stored x) {
        float out;
        asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x));
        return out;
    }
    static DEVICE stored write(float x) {
        stored out;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
        return out;
    }
#else
    static float read(stored x) { return shim::half_to_float(x); }
    static stored write(float x) { return shim::float_to_half(x); }
#endif
};

/// Two floats as two halves in one word, the first in the low half.
template <typename Format> DEVICE u32 pack2(float low, float high) {
    return (u32)Format::write(low) | (u32)Format::write(high) << 16;
}
#if defined(__CUDACC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <> DEVICE u32 pack2<BFloat16>(float low, float high) {
    u32 out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
}
#endif
#ifdef __CUDACC__
template <> DEVICE u32 pack2<Float16>(float low, float high) {
    u32 out;
    asm("{.reg .f16 a, b;\n cvt.rn.f16.f32 a, %1;\n cvt.rn.f16.f32 b, %2;\n mov.b32 %0, {a, b};}"
        : "=r"(out)
        : "f"(low), "f"(high));
    return out;
}
#endif

/// Four numbers side by side, as they lie in memory and as floats.
template <typename Format> struct Vector4 {
    typedef Words2 Words;
    static DEVICE void read(const Words2& packed, float* values) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            values[2 * i] = Format::read((u16)(packed.word[i] & 0xFFFFu));
            values[2 * i + 1] = Format::read((u16)(packed.word[i] >> 16));
        }
    }
    static DEVICE Words2 write(const float* values) {
        Words2 packed;
#pragma unroll
        for (int i = 0; i < 2; ++i) packed.word[i] = pack2<Format>(values[2 * i], values[2 * i + 1]);
        return packed;
    }
};
template <> struct Vector4<Float32> {
    typedef Words4 Words;
    static DEVICE void read(const Words4& packed, float* values) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[i] = __uint_as_float(packed.word[i]);
    }
    static DEVICE Words4 write(const float* values) {
        Words4 packed;
#pragma unroll
        for (int i = 0; i < 4; ++i) packed.word[i] = __float_as_uint(values[i]);
        return packed;
    }
};

/// Eight floats in a row of `Format`, at a place that is aligned to 16 bytes.
template <typename Format> DEVICE void store8(typename Format::stored* place, const float* values) {
    Words4 packed;
#pragma unroll
    for (int i = 0; i < 4; ++i) packed.word[i] = pack2<Format>(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<Words4*>(place) = packed;
}
template <> DEVICE void store8<Float32>(float* place, const float* values) {
    reinterpret_cast<Words4*>(place)[0] = Vector4<Float32>::write(values);
    reinterpret_cast<Words4*>(place)[1] = Vector4<Float32>::write(values + 4);
}

/// What 16 bytes hold, as floats. `LANES` of them.
template <typename Format> struct Vector16 {
    static const int LANES = 16 / sizeof(typename Format::stored);
    static DEVICE void load(const typename Format::stored* place, float* values) {
        const Words4 packed = *reinterpret_cast<const Words4*>(place);
        unpack(packed, values);
    }
    static DEVICE void unpack(const Words4& packed, float* values) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            values[2 * i] = Format::read((u16)(packed.word[i] & 0xFFFFu));
            values[2 * i + 1] = Format::read((u16)(packed.word[i] >> 16));
        }
    }
    static DEVICE void store(typename Format::stored* place, const float* values) { store8<Format>(place, values); }
};
template <> struct Vector16<Float32> {
    static const int LANES = 4;
    static DEVICE void load(const float* place, float* values) {
        const Words4 packed = *reinterpret_cast<const Words4*>(place);
        unpack(packed, values);
    }
    static DEVICE void unpack(const Words4& packed, float* values) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[i] = __uint_as_float(packed.word[i]);
    }
    static DEVICE void store(float* place, const float* values) {
        Words4 packed;
#pragma unroll
        for (int i = 0; i < 4; ++i) packed.word[i] = __float_as_uint(values[i]);
        *reinterpret_cast<Words4*>(place) = packed;
    }
};
