// Scatters and compressing stores of AVX-512; where the processor has none, they are only compiled.
// flags: -mavx512f -mavx512vl
#include "pass/recorder.h"

#include <assert.h>
#include <immintrin.h>

__attribute__((noinline)) static void scatter(int* to, __mmask8 mask, __m256i at, __m256i value) {
    _mm256_mask_i32scatter_epi32(to, mask, at, value, 4);
}

__attribute__((noinline)) static void compress(int* to, __mmask16 mask, __m512i value) {
    _mm512_mask_compressstoreu_epi32(to, mask, value);
}

__attribute__((noinline)) static void masked(int* to, __mmask16 mask, __m512i value) {
    _mm512_mask_storeu_epi32(to, mask, value);
}

__attribute__((noinline)) static void spread(int* to, const int* at, int n) {
    for (int i = 0; i < n; ++i) {
        if (at[i] >= 0) to[at[i]] = i;
    }
}

int main(void) {
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")) return 0;
    int* to = recorder_allocate(256);
    scatter(to, 0x5, _mm256_set_epi32(0, 0, 0, 0, 0, 9, 0, 3), _mm256_set1_epi32(4));
    assert(to[3] == 4 && to[9] == 4 && to[0] == 0);
    compress(to + 16, 0x8421, _mm512_set1_epi32(6));
    assert(to[16] == 6 && to[19] == 6 && to[20] == 0);
    masked(to + 32, 0x0110, _mm512_set1_epi32(8));
    assert(to[36] == 8 && to[40] == 8 && to[37] == 0);
    const int at[20] = {5, -1, 6, 7, 8, -1, 10, 11, 12, 13, 14, 15, -1, 1, 2, 3, 4, 0, 20, 21};
    spread(to, at, 20);
    assert(to[5] == 0 && to[21] == 19 && to[9] == 4);
}
