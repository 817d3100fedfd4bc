// hf_shadow_commit_micro: the experiment that chose the shadow engine's commit
// (docs/shadow_engine.md).
//
//   hf_shadow_commit_micro [MiB] [rounds]
//
// Four ways to commit k lines, with nothing else around them: no ownership, no allocator, no
// epochs. Real clwb, sfence and non-temporal stores on /dev/shm. redo and undo write a packed
// record of words. shadow-2 writes each line to the slot that is not committed, fence, then a
// record of bits, fence. shadow-1 has a checksum of the lines in the record, and so no fence
// between; but where a line at home is written in part, it has the fence. Lines flushed put off
// (redo's places, the bits) are counted once for each batch of 2,048. The output is the minimum
// of the rounds: the machine may have other work.
#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "persist/medium.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using hf::line_size;
using hf::u64;
constexpr u64 page_size = 4096;
constexpr std::size_t batch = 2048;

struct copy {
    u64 line;
    u64 words[8];
};

char* map(const char* name, u64 bytes) {
    const int file = ::open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
    void* const p =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    ::unlink(name);
    ::close(file);
    if (p == MAP_FAILED) std::abort();
    std::memset(p, 1, bytes);
    return static_cast<char*>(p);
}

class world {
   public:
    explicit world(u64 pages)
        : home_(map("/dev/shm/hf_shadow_home", pages * page_size)),
          slots_(map("/dev/shm/hf_shadow_slots", pages * page_size)),
          bits_(reinterpret_cast<u64*>(map("/dev/shm/hf_shadow_bits", pages * 16))),
          log_(map("/dev/shm/hf_shadow_log", log_bytes)) {
        std::memset(bits_, 0, pages * 16);
    }
    void redo(const std::vector<copy>& t, unsigned words) {
        u64 n = head;
        for (const copy& l : t) {
            draft_[n++] = l.line << 8 | 0xff;
            for (unsigned i = 0; i < words; ++i) draft_[n++] = l.words[i];
        }
        lay(n);
        med_.fence();
        for (const copy& l : t) {
            std::memcpy(line(home_, l.line), l.words, 8 * words);
            note(line(home_, l.line));
        }
    }
    void undo(const std::vector<copy>& t, unsigned words) {
        u64 n = head;
        for (const copy& l : t) {
            draft_[n++] = l.line << 8 | 0xff;
            std::memcpy(&draft_[n], line(home_, l.line), 8 * words);
            n += words;
        }
        char* const record = lay(n + 1);
        med_.fence();
        for (const copy& l : t) {
            std::memcpy(line(home_, l.line), l.words, 8 * words);
            flush(line(home_, l.line));
        }
        med_.fence();
        std::memcpy(record + 8 * n, draft_.data(), 8);
        flush(record + 8 * n);
        med_.fence();
    }
    void shadow(const std::vector<copy>& t, unsigned words, bool checks) {
        u64 n = head;
        u64 last = ~u64{0};
        u64 sum = 0;
        bool fences = !checks;
        for (const copy& l : t) {
            const u64 page = l.line / 64;
            const u64 bit = u64{1} << l.line % 64;
            if (page != last) {
                draft_[n] = page;
                draft_[n + 1] = draft_[n + 2] = 0;
                n += 3;
                last = page;
            }
            draft_[n - 2] |= bit;
            char* const home = line(home_, l.line);
            if ((bits_[2 * page] & bit) == 0) {
                draft_[n - 1] |= bit;
                alignas(line_size) char whole[line_size];
                std::memcpy(whole, home, line_size);
                std::memcpy(whole, l.words, 8 * words);
                if (checks) sum = hf::checksum64(whole, line_size, sum);
                med_.stream(line(slots_, l.line), whole, line_size);
                ++lines;
            } else {
                std::memcpy(home, l.words, 8 * words);
                if (words != 8) fences = true;
                if (checks && words == 8) sum = hf::checksum64(home, line_size, sum);
                flush(home);
            }
        }
        if (fences) med_.fence();
        draft_[4] = sum;
        lay(n);
        med_.fence();
        for (u64 i = head; i < n; i += 3) {
            u64& bits = bits_[2 * draft_[i]];
            bits = (bits & ~draft_[i + 1]) | draft_[i + 2];
            note(reinterpret_cast<char*>(hf::align_down(reinterpret_cast<u64>(&bits), line_size)));
        }
        for (const copy& l : t) std::memcpy(line(home_, l.line), l.words, 8 * words);
    }
    /// Writes the lines that were deferred.
    void settle() {
        std::ranges::sort(noted_);
        noted_.erase(std::unique(noted_.begin(), noted_.end()), noted_.end());
        for (char* p : noted_) flush(p);
        med_.fence();
        noted_.clear();
    }

    u64 lines = 0;  ///< written

   private:
    static constexpr u64 log_bytes = u64{1} << 20;
    static constexpr u64 head = 5;  ///< words of a record's header
    static char* line(char* from, u64 number) { return from + number * line_size; }
    void flush(const char* p) {
        med_.flush_line(p);
        ++lines;
    }
    void note(char* p) {
        noted_.push_back(p);
        if (noted_.size() >= batch) settle();
    }
    char* lay(u64 words) {
        draft_[0] = hf::checksum64(&draft_[1], 8 * words - 8);
        const u64 bytes = hf::align_up(8 * words, line_size);
        if (at_ + bytes > log_bytes) at_ = 0;
        char* const to = log_ + at_;
        med_.stream(to, draft_.data(), bytes);
        at_ += bytes;
        lines += bytes / line_size;
        return to;
    }

    const hf::medium med_{hf::medium_kind::shm, hf::best_flush_instruction(), 0};
    char* home_;
    char* slots_;
    u64* bits_;
    char* log_;
    u64 at_ = 0;
    std::vector<char*> noted_;
    std::vector<u64> draft_ = std::vector<u64>(1 << 16);
};

}  // namespace

int main(int argc, char** argv) {
    const u64 pages = (argc > 1 ? std::stoull(argv[1]) : 256) * 256;
    const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 40;
    world w(pages);
    std::printf("%-6s %-10s %9s %9s %9s %9s   lines a transaction, in that order\n", "lines",
                "words each", "redo ns", "undo ns", "shadow-2", "shadow-1");
    for (const unsigned words : {8U, 1U}) {
        for (const unsigned k : {1U, 2U, 4U, 8U, 16U, 64U, 256U, 1024U}) {
            double ns[4] = {1e18, 1e18, 1e18, 1e18};
            double lines[4] = {};
            std::vector<copy> t(k);
            for (unsigned round = 0; round < rounds; ++round) {
                for (unsigned way = 0; way < 4; ++way) {
                    std::mt19937_64 random(7 * round + k);
                    const u64 n = std::max<u64>(20, 3000 / k);
                    w.settle();
                    w.lines = 0;
                    const auto start = std::chrono::steady_clock::now();
                    for (u64 i = 0; i < n; ++i) {
                        const u64 first = random() % (pages * 64 - k);
                        for (unsigned j = 0; j < k; ++j) {
                            t[j].line = words == 8 ? first + j : random() % (pages * 64);
                            for (u64& one : t[j].words) one = i + j;
                        }
                        if (way == 0) w.redo(t, words);
                        if (way == 1) w.undo(t, words);
                        if (way >= 2) w.shadow(t, words, way == 3);
                    }
                    const std::chrono::duration<double, std::nano> took =
                        std::chrono::steady_clock::now() - start;
                    w.settle();
                    ns[way] = std::min(ns[way], took.count() / static_cast<double>(n));
                    lines[way] = static_cast<double>(w.lines) / static_cast<double>(n);
                }
            }
            std::printf("%-6u %-10u %9.0f %9.0f %9.0f %9.0f   %.2f %.2f %.2f %.2f\n", k, words,
                        ns[0], ns[1], ns[2], ns[3], lines[0], lines[1], lines[2], lines[3]);
        }
    }
    return 0;
}
