#include "storm/storm.hpp"

#include <gtest/gtest.h>

#include <mutex>

namespace hf::test {

namespace {

constexpr u64 page_bytes = layout::page_size;

/// Words that may differ between memory and the medium while no operation runs: see storm.hpp.
class volatile_words {
   public:
    void learn(machine& m) {
        runs_.clear();
        m.each_run([&](u64 offset, const page_run& run) { runs_.emplace_back(offset, run); });
        root_ = m.behind().tree().root();
        node_block_ = m.behind().tree().is_inlined() ? masstree_detail::inlined_node_block
                                                     : masstree_detail::node_block;
    }
    /// Whether [page, page + 64 KiB) is compared at all.
    [[nodiscard]] bool is_watched(u64 page) const {
        const auto* run = run_of(page);
        return run != nullptr &&
               (run->second.use == page_use::slab || run->second.use == page_use::system);
    }
    [[nodiscard]] bool may_differ(u64 word) const {
        const auto* run = run_of(word);
        if (run == nullptr || word == root_) return true;  // the root is in the heap's own pages
        if (run->second.use != page_use::slab) return false;
        return run->second.size_class == class_of_block(node_block_) &&
               (word - run->first) % node_block_ == block_header_size;
    }

   private:
    [[nodiscard]] const std::pair<u64, page_run>* run_of(u64 offset) const {
        for (const auto& r : runs_) {
            if (offset >= r.first && offset < r.first + r.second.pages * page_bytes) return &r;
        }
        return nullptr;
    }
    std::vector<std::pair<u64, page_run>> runs_;
    u64 root_ = 0;  ///< the root's first word is its version
    u64 node_block_ = 0;
};

}  // namespace

class storm::session {
   public:
    session(storm& s, machine& m, shadow_memory& shadow)
        : s_(s), m_(m), shadow_(shadow), random_(s.options_.seed * 1000 + s.sessions_) {
        shadow_.at_boundary([this](u64) { compare_some(); });
    }

    void run(std::vector<log>& logs) {
        const storm_options& o = s_.options_;
        logs.resize(o.writers + o.short_lives);
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < o.writers; ++i) {
            threads.emplace_back([this, i, &logs] {
                u64 seed = seed_of(i);
                while (!stop_) write_some(i, 64, seed++, logs[i]);
            });
        }
        for (unsigned i = o.writers; i < o.writers + o.short_lives; ++i) {
            threads.emplace_back([this, i, &logs] {
                u64 seed = seed_of(i);
                while (!stop_) {
                    std::thread([&] { write_some(i, 150, seed++, logs[i]); }).join();
                }
            });
        }
        for (unsigned i = 0; i < o.readers; ++i) {
            threads.emplace_back([this, i] { read(seed_of(100 + i)); });
        }
        for (unsigned i = 0; i < o.scanners; ++i) {
            threads.emplace_back([this, i] { scan(seed_of(200 + i)); });
        }
        if (o.evictions) threads.emplace_back([this] { evict(seed_of(300)); });
        const u64 most = o.boundaries / 2 + random_.below(o.boundaries);
        for (u64 i = 0; i < most && !failed_; ++i) {
            m_.end_epoch();
            ++s_.boundaries_;
            // Sometimes an epoch gets time to grow.
            if (random_.below(64) == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(random_.below(500)));
            }
        }
        shadow_.cut(s_.file_);
        stop_ = true;
        for (auto& t : threads) t.join();
        for (const log& l : logs) s_.writes_ += l.size();
    }

    [[nodiscard]] bool failed() const { return failed_; }

   private:
    [[nodiscard]] u64 seed_of(unsigned i) const {
        return s_.options_.seed * 7919 + s_.sessions_ * 613 + i * 1'000'003;
    }

    void complain(const std::string& what) {
        const std::lock_guard guard(mutex_);
        if (!failed_) ADD_FAILURE() << "session " << s_.sessions_ << ": " << what;
        failed_ = true;
        stop_ = true;
    }

    void write_some(unsigned who, unsigned count, u64 seed, log& into) {
        const unsigned all = s_.options_.writers + s_.options_.short_lives;
        xoshiro256ss r(seed);
        for (unsigned n = 0; n < count && !stop_; ++n) {
            // Some keys are written all the time, some once in many thousand epochs.
            const u32 share = s_.people_.size() / all;
            const u64 within = r.below(4) == 0 ? r.below(share) : r.below(1 + share / 16);
            write_one(static_cast<u32>(within) * all + who, r, into);
        }
    }

    void write_one(u32 key, xoshiro256ss& r, log& into) {
        population& p = s_.people_;
        const bool existed = p.state_of(key, p.newest(key)).present;
        const u32 version = p.begin(key);
        const std::string& name = p.name(key);
        result<write_outcome> done;
        if (!p.state_of(key, version).present) {
            done = m_->remove(name);
        } else {
            const std::string value = p.value_of(key, version);
            if (value.size() > 2000 || r.below(4) != 0) {
                done = m_->put(name, value);
            } else {
                done = m_->modify(name, [&](std::optional<std::string_view>, std::string& fresh) {
                    fresh = value;
                    return map::edit::replace;
                });
            }
        }
        if (!done) return complain(done.error().to_string());
        if (done->existed != existed) {
            complain("key " + std::to_string(key) + " was " + (existed ? "lost" : "there") +
                     " when version " + std::to_string(version) + " was written");
        }
        into.push_back({key, version, done->written_in});
        p.done(key, version);
    }

    void read(u64 seed) {
        xoshiro256ss r(seed);
        std::string out;
        while (!stop_) {
            if (r.below(4) == 0) {
                get_many(r);
                continue;
            }
            const auto key = static_cast<u32>(r.below(s_.people_.size()));
            const auto known = s_.people_.before(key);
            const bool there = must(m_->get(s_.people_.name(key), out));
            const auto wrong = s_.people_.judge(
                key, known, there ? std::optional<std::string_view>(out) : std::nullopt);
            if (wrong) complain("get: " + *wrong);
        }
    }

    void get_many(xoshiro256ss& r) {
        std::vector<u32> keys(1 + r.below(20));
        std::vector<population::known> known;
        std::vector<std::string> names;
        for (u32& key : keys) {
            key = static_cast<u32>(r.below(s_.people_.size()));
            known.push_back(s_.people_.before(key));
            names.push_back(s_.people_.name(key));
        }
        std::vector<std::optional<std::string>> found(keys.size());
        const std::vector<std::string_view> views(names.begin(), names.end());
        if (r.below(2) == 0) m_->prefetch(views);
        must(m_->get_many(views, [&](std::size_t i, std::string_view value) { found[i] = value; }));
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto wrong = s_.people_.judge(keys[i], known[i], found[i]);
            if (wrong) complain("get_many: " + *wrong);
        }
    }

    /// Scans a range of keys, and judges each, including missing ones.
    void scan(u64 seed) {
        xoshiro256ss r(seed);
        std::vector<population::known> known(s_.people_.size());
        while (!stop_) {
            const bool forward = r.below(2) == 0;
            const std::string from = s_.people_.name(static_cast<u32>(r.below(s_.people_.size())));
            for (u32 k = 0; k < s_.people_.size(); ++k) known[k] = s_.people_.before(k);
            std::map<std::string, std::string, std::less<>> seen;
            std::string last = from;
            unsigned left = 300;
            bool first = true;
            const auto visit = [&](std::string_view key, std::string_view value) {
                const bool ordered = forward ? (first ? key >= last : key > last)
                                             : (first ? key <= last : key < last);
                if (!ordered) complain("a scan is out of order");
                first = false;
                last = std::string(key);
                seen.emplace(key, value);
                return --left > 0 && !stop_;
            };
            const auto done = forward ? m_->scan(from, visit) : m_->scan_backward(from, visit);
            if (!done) return complain(done.error().to_string());
            const bool at_end = left > 0;
            if (stop_) return;
            judge_scan(from, last, at_end, forward, known, seen);
        }
    }

    void judge_scan(const std::string& from, const std::string& last, bool at_end, bool forward,
                    const std::vector<population::known>& known,
                    const std::map<std::string, std::string, std::less<>>& seen) {
        for (u32 k = 0; k < s_.people_.size(); ++k) {
            const std::string& name = s_.people_.name(k);
            const bool behind = forward ? name >= from : name <= from;
            const bool before = at_end || (forward ? name <= last : name >= last);
            const auto found = seen.find(name);
            if (!behind || !before) continue;
            const auto wrong = s_.people_.judge(k, known[k],
                                                found != seen.end()
                                                    ? std::optional<std::string_view>(found->second)
                                                    : std::nullopt);
            if (wrong) complain((forward ? "scan: " : "scan backward: ") + *wrong);
        }
        for (const auto& [name, value] : seen) {
            if (!s_.people_.find(name)) complain("a scan met a key that nobody has written");
        }
    }

    void evict(u64 seed) {
        xoshiro256ss r(seed);
        while (!stop_) {
            for (unsigned i = 0; i < 32; ++i) {
                const std::lock_guard not_compared(eviction_);
                shadow_.evict(r());
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    // While operations are stopped. One page at a time; the list of slabs is updated now and then.
    void compare_some() {
        const std::lock_guard nothing_evicted(eviction_);
        if (compared_++ % 64 == 0) volatile_words_.learn(m_);
        const u64 pages = m_.behind().file().size() / page_bytes;
        for (unsigned tries = 0; tries < 64; ++tries) {
            page_ = (page_ + 1) % pages;
            if (!volatile_words_.is_watched(page_ * page_bytes)) continue;
            for (const u64 word : shadow_.differing(page_ * page_bytes, page_bytes, 4096)) {
                if (volatile_words_.may_differ(word)) continue;
                complain("the word at offset " + std::to_string(word) +
                         " has not reached the medium at a boundary");
                return;
            }
            return;
        }
    }

    storm& s_;
    machine& m_;
    shadow_memory& shadow_;
    xoshiro256ss random_;
    volatile_words volatile_words_;
    u64 compared_ = 0;
    u64 page_ = 0;
    std::atomic<bool> stop_{false};
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::mutex eviction_;  ///< serialises comparing the copy and evictions
};

storm::storm(const std::filesystem::path& directory, const storm_options& options)
    : options_(options),
      file_(directory / "storm.hf"),
      copy_(directory / "copy.hf"),
      people_(options.keys, options.machine.small_values),
      kept_(options.keys) {
    machine made(file_, options_.machine);
    must(made->close());
}

bool storm::run_session() {
    ++sessions_;
    std::vector<log> logs;
    std::vector<std::byte> image;
    {
        shadow_memory shadow(u64{1} << 30, read_file(file_));
        machine m(file_, options_.machine);
        session run(*this, m, shadow);
        run.run(logs);
        image = shadow.image();
        if (run.failed()) return false;
    }
    judge(image, logs);
    return !::testing::Test::HasFailure();
}

void storm::judge(const std::vector<std::byte>& image, const std::vector<log>& logs) {
    const u64 failed = epoch_of_image(image);
    for (const log& l : logs) {
        for (const write& w : l) {
            if (w.epoch < failed) kept_[w.key] = w.version;
        }
    }
    write_file(file_, image);
    people_.roll_back(kept_);
    // Every second time the next session's threads are the first to access the leaves.
    if (sessions_ % 2 == 0) return;
    for (const std::string& wrong : audit_of(file_)) {
        ADD_FAILURE() << "session " << sessions_ << ": " << wrong;
    }
    write_file(copy_, image);
    judge_whole(copy_, sessions_ % 4 == 1);
}

/// Judges every key by a scan that is the first to access anything.
void storm::judge_whole(const std::filesystem::path& copy, bool backward) {
    machine m(copy, options_.machine);
    std::vector<bool> seen(people_.size());
    const auto visit = [&](std::string_view key, std::string_view value) {
        const auto k = people_.find(key);
        EXPECT_TRUE(k) << "a key that nobody has written";
        if (!k) return false;
        seen[*k] = true;
        const auto wrong = people_.judge(*k, people_.before(*k), value);
        EXPECT_FALSE(wrong) << "session " << sessions_ << ": " << *wrong;
        return !wrong;
    };
    if (backward) {
        must(m->scan_backward({}, visit));
    } else {
        must(m->scan("", visit));
    }
    if (::testing::Test::HasFailure()) return;
    for (u32 k = 0; k < people_.size(); ++k) {
        if (seen[k]) continue;
        const auto wrong = people_.judge(k, people_.before(k), std::nullopt);
        EXPECT_FALSE(wrong) << "session " << sessions_ << ": " << *wrong;
    }
}

}  // namespace hf::test
