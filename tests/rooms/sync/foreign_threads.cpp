// Starts threads by the thousand, eight at a time; each locks and unlocks one mutex. It includes
// nothing of Holdfast, as a program that has never heard of it.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
unsigned long turns = 0;

void* run(void*) {
    pthread_mutex_lock(&lock);
    ++turns;
    pthread_mutex_unlock(&lock);
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned long all = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    while (turns < all) {
        const unsigned long rest = all - turns;
        pthread_t crowd[8];
        unsigned long started = 0;
        for (; started < 8 && started < rest; ++started) {
            if (pthread_create(&crowd[started], nullptr, run, nullptr) != 0) return 1;
        }
        for (unsigned long i = 0; i < started; ++i) pthread_join(crowd[i], nullptr);
    }
    std::printf("%lu threads, at most 8 at a time", turns);
    return 0;
}
