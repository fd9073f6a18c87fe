// The words of CUDA that our kernels use, for a C++ compiler: every thread of a block is a fiber, blocks run in turn.
//
// A fiber runs until it meets a barrier or a shuffle, then the next one does. Barriers are real: a thread that no
// other thread meets there stops the launch with an error. With `backwards` the threads take turns from the last to the
// first: a result that changes with it depends on a barrier that is missing.
//
// It proves what a kernel computes, its indices and its barriers. It says nothing of speed, and nothing of memory order
// within a warp beyond the named barriers. Half-precision conversion is the compiler's (`_Float16`).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define DEVICE inline
#define __global__
#define __launch_bounds__(...)
#define __shared__ static
#define rsqrtf(x) (1.0f / sqrtf(x))

namespace shim {
struct Place {
    int x = 0, y = 0, z = 0;
};
enum State { READY, AT_BARRIER, AT_SHUFFLE, DONE };
struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 17);
    State state = READY;
    unsigned slot = 0;
};

inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline int current = 0;
inline bool trapped = false;
inline void (*body)(void**) = nullptr;
inline void** body_arguments = nullptr;

inline void wait(State state) {
    Fiber& fiber = fibers[current];
    fiber.state = state;
    swapcontext(&fiber.context, &scheduler);
}
inline void run_fiber() {
    body(body_arguments);
    fibers[current].state = DONE;
    swapcontext(&fibers[current].context, &scheduler);
}
inline unsigned shuffle_xor(unsigned value, int distance) {
    const int partner = current ^ distance;
    fibers[current].slot = value;
    wait(AT_SHUFFLE);
    const unsigned found = fibers[partner].slot;
    wait(AT_SHUFFLE);  // nobody overwrites a slot that is still to be read
    return found;
}

template <typename... Arguments, size_t... At>
void unpack(void (*kernel)(Arguments...), void** arguments, std::index_sequence<At...>) {
    kernel(*static_cast<Arguments*>(arguments[At])...);
}

inline float half_to_float(unsigned short bits) {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return (float)half;
}
inline unsigned short float_to_half(float x) {
    const _Float16 half = (_Float16)x;
    unsigned short bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}
}  // namespace shim

inline shim::Place threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { shim::wait(shim::AT_BARRIER); }
[[noreturn]] inline void stop_fiber() {
    shim::wait(shim::DONE);
    std::abort();
}
inline void __trap() {
    shim::trapped = true;
    stop_fiber();
}
inline float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}
inline unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}
inline float __fdividef(float x, float y) { return x / y; }
inline float __shfl_xor_sync(unsigned, float value, int distance) {
    return __uint_as_float(shim::shuffle_xor(__float_as_uint(value), distance));
}
inline unsigned __shfl_xor_sync(unsigned, unsigned value, int distance) { return shim::shuffle_xor(value, distance); }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const uint64_t both = (uint64_t)high << 32 | low;
    unsigned out = 0;
    for (int i = 0; i < 4; ++i) out |= (unsigned)(both >> (8 * (selector >> (4 * i) & 7)) & 0xFF) << (8 * i);
    return out;
}

namespace shim {
enum Result { FINE = 0, TRAPPED = 1, DEADLOCK = 2 };

/// Lets all go that wait at a block's barrier, or at a warp's shuffle, if all that still run have come there.
inline bool release(int threads) {
    bool any = false, all = true;
    for (int i = 0; i < threads; ++i) all = all && (fibers[i].state == AT_BARRIER || fibers[i].state == DONE);
    for (int warp = 0; warp < threads; warp += 32) {
        bool met = all;
        if (!met) {
            met = true;
            for (int i = warp; i < warp + 32 && i < threads; ++i) met = met && fibers[i].state == AT_SHUFFLE;
        }
        for (int i = warp; met && i < warp + 32 && i < threads; ++i) {
            if (fibers[i].state != DONE) {
                fibers[i].state = READY;
                any = true;
            }
        }
    }
    return any;
}

inline Result run_block(int threads, bool backwards) {
    for (int i = 0; i < threads; ++i) {
        Fiber& fiber = fibers[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_fiber, 0);
        fiber.state = READY;
    }
    for (;;) {
        int left = 0;
        for (int turn = 0; turn < threads; ++turn) {
            current = backwards ? threads - 1 - turn : turn;
            if (fibers[current].state == READY) {
                threadIdx.x = current;
                swapcontext(&scheduler, &fibers[current].context);
                if (trapped) return TRAPPED;
            }
            left += fibers[current].state != DONE;
        }
        if (left == 0) return FINE;
        if (!release(threads)) return DEADLOCK;
    }
}

template <typename... Arguments> auto unpacker(void (*)(Arguments...)) {
    return std::index_sequence_for<Arguments...>();
}

template <auto kernel> void call(void** arguments) { unpack(kernel, arguments, unpacker(kernel)); }

template <auto kernel> int launch(int grid_x, int grid_y, int threads, int backwards, void** arguments) {
    body = call<kernel>;
    body_arguments = arguments;
    trapped = false;
    if ((int)fibers.size() < threads) fibers = std::vector<Fiber>(threads);
    gridDim.x = grid_x, gridDim.y = grid_y, blockDim.x = threads;
    for (blockIdx.y = 0; blockIdx.y < grid_y; ++blockIdx.y) {
        for (blockIdx.x = 0; blockIdx.x < grid_x; ++blockIdx.x) {
            if (Result result = run_block(threads, backwards != 0)) return result;
        }
    }
    return FINE;
}
}  // namespace shim

#define SHIM_EXPORT(name)                                                                                             \
    extern "C" int launch_##name(int x, int y, int threads, int backwards, void** arguments) {                        \
        return shim::launch<name>(x, y, threads, backwards, arguments);                                               \
    }
