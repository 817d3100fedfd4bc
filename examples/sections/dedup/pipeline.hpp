// examples/sections/dedup/pipeline.hpp: a deduplication pipeline whose table of chunks is durable.
//
// After the kernel `dedup` of the PARSEC benchmarks, written for this project: a stream is cut into
// chunks by a rolling hash, each chunk is named by its SHA-1, and a table tells whether it was seen
// before.
//
//     cut by rolling hash --> hash and look up --> compress (new chunks) --> write
//          1 thread             T threads              T threads             1 thread
//
// The bucket's lock is held while a chunk is looked up, entered and handed to the next queue, whose
// lock is an inner one: the outermost section is the bucket's (paper, section 3). The table is in
// the region; queues and chunks are transient. After a restart the table is a cache: chunks that it
// has are not compressed again.
//
// `Way` says how durable fields are stored, memory is allocated and locks are taken: the program's
// is in dedup.cpp, the benchmark's are in bench/sections/ways.hpp.
//
// Literature. Chakrabarti and Boehm, HotPar 2013, section 3; Bienia et al., "The PARSEC Benchmark
// Suite", PACT 2008.
#pragma once

#include "examples/sections/dedup/chunking.hpp"

#include <openssl/sha.h>

#include <pthread.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace example {

/// The chunk's name: SHA-1, in three words.
using chunk_name = std::array<std::uint64_t, 3>;

struct chunk_entry {
    chunk_entry* next;  ///< in its bucket
    chunk_name name;
    std::uint64_t bytes;
    std::uint64_t compressed;  ///< bytes; 0: not yet
    std::uint64_t seen;        ///< how often
};

inline constexpr std::size_t chunk_buckets = 1 << 14;
struct chunk_table {
    std::array<chunk_entry*, chunk_buckets> buckets;
};

[[nodiscard]] inline chunk_name name_of(const std::vector<unsigned char>& bytes) {
    unsigned char digest[24] = {};
    ::SHA1(bytes.data(), bytes.size(), digest);
    chunk_name name{};
    std::memcpy(name.data(), digest, sizeof digest);
    return name;
}

struct chunk {
    std::vector<unsigned char> bytes;
    chunk_entry* entry = nullptr;
    std::uint64_t output = 0;  ///< bytes that are written of it
};

/// Between two stages. Its lock is one of `Way`: taken inside a section it is an inner one.
template <class Way>
class chunk_queue {
   public:
    /// `writers`: of the stage before; each says close() once.
    explicit chunk_queue(unsigned writers) : writers_(writers) {}
    void put(chunk&& c) {
        lock_.lock();
        chunks_.push_back(std::move(c));
        ::pthread_cond_signal(&filled_);
        lock_.unlock();
    }
    /// False: there is no more.
    bool take(chunk& into) {
        lock_.lock();
        while (chunks_.empty() && writers_ != 0) lock_.wait(filled_);
        const bool found = !chunks_.empty();
        if (found) {
            into = std::move(chunks_.front());
            chunks_.pop_front();
        }
        lock_.unlock();
        return found;
    }
    void close() {
        lock_.lock();
        --writers_;
        ::pthread_cond_broadcast(&filled_);
        lock_.unlock();
    }

   private:
    typename Way::mutex lock_;
    pthread_cond_t filled_ = PTHREAD_COND_INITIALIZER;
    std::deque<chunk> chunks_;
    unsigned writers_;
};

template <class Way>
class dedup {
   public:
    /// A table of its own.
    dedup(unsigned threads, std::uint64_t input_bytes, std::function<void()> at_end)
        : dedup(static_cast<chunk_table*>(Way::allocate(sizeof(chunk_table))), threads, input_bytes,
                std::move(at_end)) {}
    /// `at_end` is called by each thread at its end.
    dedup(chunk_table* table, unsigned threads, std::uint64_t input_bytes,
          std::function<void()> at_end)
        : table_(table),
          threads_(threads),
          input_bytes_(input_bytes),
          at_end_(std::move(at_end)),
          to_hash_(1),
          to_compress_(threads),
          to_write_(2 * threads) {}

    /// Reads the stream once. Returns the bytes written.
    std::uint64_t run() {
        std::vector<std::thread> all;
        const auto start = [&](auto stage) {
            all.emplace_back([this, stage] {
                stage();
                at_end_();
            });
        };
        start([this] { cut(); });
        for (unsigned t = 0; t < threads_; ++t) start([this] { look_up_all(); });
        for (unsigned t = 0; t < threads_; ++t) start([this] { compress_all(); });
        start([this] { write(); });
        for (std::thread& t : all) t.join();
        return written_;
    }

   private:
    void cut() {
        repetitive_stream input(input_bytes_);
        rolling_cutter cutter;
        for (auto bytes = cutter.next(input); !bytes.empty(); bytes = cutter.next(input)) {
            to_hash_.put({std::move(bytes), nullptr, 0});
        }
        to_hash_.close();
    }
    void look_up_all() {
        for (chunk c; to_hash_.take(c);) look_up(std::move(c));
        to_compress_.close();
        to_write_.close();
    }
    void look_up(chunk&& c) {
        const chunk_name name = name_of(c.bytes);
        const std::size_t b = name[0] % chunk_buckets;
        typename Way::mutex& lock = locks_[b % lock_count];
        lock.lock();
        chunk_entry*& bucket = table_->buckets[b];
        for (chunk_entry* e = bucket; e != nullptr; e = e->next) {
            if (e->name != name) continue;
            Way::store(e->seen, e->seen + 1);
            c.output = sizeof name;
            to_write_.put(std::move(c));
            lock.unlock();
            return;
        }
        c.entry = enter(bucket, name, c.bytes.size());
        to_compress_.put(std::move(c));
        lock.unlock();
    }
    static chunk_entry* enter(chunk_entry*& bucket, const chunk_name& name, std::uint64_t bytes) {
        auto* const e = static_cast<chunk_entry*>(Way::allocate(sizeof(chunk_entry)));
        Way::store(e->next, bucket);
        for (std::size_t i = 0; i < name.size(); ++i) Way::store(e->name[i], name[i]);
        Way::store(e->bytes, bytes);
        Way::store(e->seen, 1);
        Way::store(bucket, e);
        return e;
    }
    void compress_all() {
        std::vector<unsigned char> into;
        for (chunk c; to_compress_.take(c);) {
            uLongf bytes = ::compressBound(c.bytes.size());
            into.resize(bytes);
            ::compress2(into.data(), &bytes, c.bytes.data(), c.bytes.size(), Z_BEST_SPEED);
            typename Way::mutex& lock = locks_[c.entry->name[0] % chunk_buckets % lock_count];
            lock.lock();
            Way::store(c.entry->compressed, bytes);
            lock.unlock();
            c.output = bytes;
            to_write_.put(std::move(c));
        }
        to_write_.close();
    }
    void write() {
        for (chunk c; to_write_.take(c);) written_ += c.output;
    }

    static constexpr std::size_t lock_count = 256;

    chunk_table* table_;
    unsigned threads_;
    std::uint64_t input_bytes_;
    std::function<void()> at_end_;
    std::array<typename Way::mutex, lock_count> locks_;
    chunk_queue<Way> to_hash_;
    chunk_queue<Way> to_compress_;
    chunk_queue<Way> to_write_;
    std::uint64_t written_ = 0;
};

}  // namespace example
