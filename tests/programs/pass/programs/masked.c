// Masked stores at the very end of a region: exactly the selected elements are announced.
// flags: -mavx2
#include "pass/recorder.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

__attribute__((noinline)) static void store(float* to, __m256i mask, __m256 value) {
    _mm256_maskstore_ps(to, mask, value);
}

__attribute__((noinline)) static void store_two(long long* to, __m128i mask, __m128i value) {
    _mm_maskstore_epi64(to, mask, value);
}

__attribute__((noinline)) static void store_bytes(char* to, __m128i mask, __m128i value) {
    _mm_maskmoveu_si128(value, mask, to);
}

int main(void) {
    if (!__builtin_cpu_supports("avx2")) return 0;
    char* all = recorder_allocate((1 << 20) - 64);
    float* end = (float*)(recorder_allocate(64)) + 16;  // past the last byte of the region
    assert((char*)end == all + (1 << 20));
    const __m256 value = _mm256_set_ps(8, 7, 6, 5, 4, 3, 2, 1);
    store(end - 3, _mm256_set_epi32(0, 0, 0, 0, 0, -1, 0, -1), value);
    assert(end[-3] == 1 && end[-2] == 0 && end[-1] == 3);
    store(end - 1, _mm256_set1_epi32(0), value);
    assert(end[-1] == 3);
    store((float*)all - 6, _mm256_set_epi32(-1, -1, 0, 0, 0, 0, 0, 0), value);
    assert(((float*)all)[0] == 7 && ((float*)all)[1] == 8);
    store_two((long long*)all + 2, _mm_set_epi64x(-1, 0), _mm_set_epi64x(5, 4));
    assert(((long long*)all)[2] == 0 && ((long long*)all)[3] == 5);
    store_bytes((char*)end - 9, _mm_set_epi64x(0, -1), _mm_set1_epi8('z'));
    assert(memcmp((char*)end - 9, "zzzzzzzz", 8) == 0 && ((char*)end)[-1] != 'z');
}
