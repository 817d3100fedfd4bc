// The deduplication pipeline as a program: `run` deduplicates one stream after the other until it
// is killed; the table of chunks survives, and `check` reads each entry.
#include "examples/sections/dedup/pipeline.hpp"
#include "examples/sections/program.hpp"

#include <openssl/crypto.h>

namespace {

hf_region* region;

/// Stores are announced by the program itself; locks are found by interposition.
struct announced {
    class mutex {
       public:
        void lock() { pthread_mutex_lock(&mutex_); }
        void unlock() { pthread_mutex_unlock(&mutex_); }
        void wait(pthread_cond_t& c) { pthread_cond_wait(&c, &mutex_); }

       private:
        pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    };
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        example::store(field, value);
    }
    static void* allocate(std::size_t bytes) {
        void* const p = hf_zeroed(region, 1, bytes);
        if (p == nullptr) example::fail("no memory");
        return p;
    }
};

example::chunk_table* open_table() {
    return example::root_of<example::chunk_table>(region, "chunks");
}

void work(unsigned) {
    example::chunk_table* const table = open_table();
    for (std::uint64_t megabytes = 1;; ++megabytes) {
        example::dedup<announced>(table, 2, megabytes << 20, [] {}).run();
    }
}

int check() {
    const example::chunk_table* const table = open_table();
    std::uint64_t entries = 0;
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < example::chunk_buckets; ++b) {
        for (const example::chunk_entry* e = table->buckets[b]; e != nullptr; e = e->next) {
            const bool is_whole = e->name[0] % example::chunk_buckets == b && e->bytes != 0 &&
                                  e->seen != 0 && e->compressed <= e->bytes + 1024;
            if (!is_whole) return 1;
            entries += 1;
            seen += e->seen;
        }
    }
    std::printf("%llu chunks, seen %llu times\n", static_cast<unsigned long long>(entries),
                static_cast<unsigned long long>(seen));
    return entries == 0 ? example::nothing_yet : 0;
}

}  // namespace

int main(int argc, char** argv) {
    // The program ends while its threads work: they may still use libcrypto, so it must not clean
    // up at exit.
    ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    return example::run_announced(argc, argv, 1, region, work, check);
}
