// For any failing system call or allocation, at any time: no hang, no loss of promised data, no
// effect of a refused write, and the next open() succeeds.
//
// The process may end (a failed sync is fatal by design, and so is a thread without memory). Then
// the file has the state of a crash.
#include "faults/nth_failure.hpp"

#include "map/copy.hpp"
#include "storm/machine.hpp"
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <new>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

using contents = std::map<std::string, std::string>;

/// A child's report to its parent, in shared memory.
struct told {
    u64 calls = 0;          ///< number of counted calls
    u32 begun = 0;          ///< number of writes
    u32 ended = 0;          ///< number of writes that returned
    u32 durable = 0;        ///< number of writes that a sync has covered
    u32 lost_files = 0;     ///< descriptors that were not closed
    bool refused[64] = {};  ///< write i was refused
    char wrong[512] = "";
    char call[32] = "";
    /// of the calls; the addresses are valid in the parent, too
    const char* names[nth::most_names] = {};

    void complain(const std::string& what) {
        if (wrong[0] == 0) std::strncpy(wrong, what.c_str(), sizeof(wrong) - 1);
    }
};

/// A write of the script.
struct change {
    std::string key;
    std::optional<std::string> value;
};

change change_of(u32 i) {
    const auto c = static_cast<char>('a' + i % 26);
    if (i % 7 == 5) return {"key " + std::to_string(i - 3), std::nullopt};
    if (i % 9 == 4) return {"large " + std::to_string(i % 5), std::string(1'500'000 + i, c)};
    if (i % 3 == 0) return {"same", std::string(20 + i, c)};
    return {"key " + std::to_string(i), std::string(100 * (i % 5), c)};
}
constexpr u32 changes = 24;

contents after(u32 count, const bool* refused) {
    contents all;
    for (u32 i = 0; i < count; ++i) {
        if (refused[i]) continue;
        const change c = change_of(i);
        if (c.value) {
            all[c.key] = *c.value;
        } else {
            all.erase(c.key);
        }
    }
    return all;
}

contents contents_of(map& m) {
    contents all;
    const auto done = m.scan("", [&](std::string_view k, std::string_view v) {
        all.emplace(k, v);
        return true;
    });
    if (!done) ADD_FAILURE() << done.error().to_string();
    return all;
}

unsigned open_files() {
    unsigned n = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) n += entry.exists() ? 1U : 1U;
    return n;
}

/// Checks that every error says what, where, why and what next.
template <class T>
bool is_fine(const tl::expected<T, error>& r, told& t) {
    if (r) return true;
    const error& e = r.error();
    if (e.what.empty() || e.where.empty() || e.why.empty() || e.next.empty()) {
        t.complain("an error that says too little: " + e.to_string());
    }
    return false;
}

class script {
   public:
    script(fs::path file, fs::path copy, machine_options o, told& t)
        : file_(std::move(file)), copy_(std::move(copy)), options_(o), told_(t) {}

    void run() {
        open();
        for (u32 i = 0; i < changes && map_; ++i) {
            write(i);
            if (i % 8 == 7) sync(i + 1);
            if (i == changes / 2) reopen(i + 1);
        }
        if (map_) scan();
        close();
        attempt([&] { (void)is_fine(copy_store(file_, copy_), told_); });
        map_.reset();
    }

   private:
    /// A failed allocation may reach the caller as std::bad_alloc.
    template <class F>
    bool attempt(F&& f) {
        try {
            f();
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    void open() {
        for (unsigned tries = 0; tries < 2 && !map_; ++tries) {
            attempt([&] {
                auto opened = map::open(file_, machine::map_options_of(options_));
                if (is_fine(opened, told_)) map_.emplace(std::move(*opened));
            });
        }
        if (!map_) told_.complain("it does not open, the second time with nothing that fails");
    }

    void write(u32 i) {
        const change c = change_of(i);
        told_.refused[i] = true;
        told_.begun = i + 1;
        attempt([&] {
            const auto done = c.value ? map_->put(c.key, *c.value) : map_->remove(c.key);
            if (is_fine(done, told_)) told_.refused[i] = false;
        });
        told_.ended = i + 1;
        attempt([&] {
            std::string found;
            const auto all = after(i + 1, told_.refused);
            const auto there = map_->get(c.key, found);
            if (!is_fine(there, told_)) return;
            const auto expected = all.find(c.key);
            if (*there != (expected != all.end()) || (*there && found != expected->second)) {
                told_.complain("write " + std::to_string(i) + " was " +
                               (told_.refused[i] ? "refused, but took effect" : "lost"));
            }
        });
    }

    void sync(u32 count) {
        attempt([&] {
            if (is_fine(map_->sync(), told_)) told_.durable = count;
        });
    }

    void reopen(u32 count) {
        close();
        if (!map_) told_.durable = std::max(told_.durable, closed_ ? count : 0);
        map_.reset();
        open();
    }

    void close() {
        closed_ = false;
        if (!map_) return;
        attempt([&] { closed_ = is_fine(map_->close(), told_); });
        map_.reset();
    }

    void scan() {
        attempt([&] {
            std::string last;
            (void)is_fine(map_->scan("",
                                     [&](std::string_view k, std::string_view) {
                                         if (k < last) told_.complain("a scan out of order");
                                         last = k;
                                         return true;
                                     }),
                          told_);
        });
    }

    fs::path file_;
    fs::path copy_;
    machine_options options_;
    told& told_;
    std::optional<map> map_;
    bool closed_ = false;
};

/// The medium, the kind of failure, and whether the file is in the state after a crash.
struct scenario {
    const char* name;
    medium_kind medium;
    nth::kind what;
    bool crashed;
};

class every_call : public ::testing::TestWithParam<scenario> {
   protected:
    every_call() {
        void* p = ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);
        told_ = new (p) told;
    }
    ~every_call() override { ::munmap(told_, sizeof(told)); }

    [[nodiscard]] machine_options options() const {
        machine_options o;
        o.medium = GetParam().medium;
        o.max_size = u64{24} << 20;
        o.hint_memory = u64{1} << 16;
        return o;
    }

    /// The numbers of the calls to fail: some of each kind of call, from the first to the last. A
    /// region on `file` has a large journal, which takes time.
    [[nodiscard]] std::vector<u64> chosen() const {
        const bool on_file = GetParam().medium == medium_kind::file;
        std::map<std::string, std::vector<u64>> of_name;
        for (u64 n = 1; n <= told_->calls; ++n) {
            const char* const name = n <= nth::most_names ? told_->names[n - 1] : "later";
            of_name[name != nullptr ? name : "?"].push_back(n);
        }
        const double share =
            GetParam().what == nth::kind::allocation ? (on_file ? 8 : 20) : (on_file ? 1 : 3);
        const auto most = static_cast<std::size_t>(std::max(1.0, effort(share, share / 2 + 0.5)));
        std::vector<u64> all;
        for (const auto& [name, numbers] : of_name) {
            const std::size_t count = std::min(most, numbers.size());
            // The first call of some kinds, the last of others.
            const std::size_t start = count == 1 ? name.size() * 7919 % numbers.size() : 0;
            for (std::size_t i = 0; i < count; ++i) {
                all.push_back(
                    numbers[start + (count == 1 ? 0 : i * (numbers.size() - 1) / (count - 1))]);
            }
        }
        return all;
    }

    /// Its exit status, as returned by waitpid.
    int in_child(u64 n) {
        *told_ = told{};
        std::fflush(nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(30);
            const int silent = ::open("/dev/null", O_WRONLY);
            ::dup2(silent, 2);
            ::close(silent);
            const unsigned before = open_files();
            nth::arm(GetParam().what, n);
            try {
                script(file, copy, options(), *told_).run();
            } catch (const std::bad_alloc&) {  // outside of the library's calls
            }
            told_->calls = nth::disarm();
            for (u64 i = 1; n == 0 && i <= nth::most_names; ++i) {
                told_->names[i - 1] = nth::call_name(i);
            }
            if (nth::failed_call() != nullptr) {
                std::strncpy(told_->call, nth::failed_call(), sizeof(told_->call) - 1);
            }
            const unsigned now = open_files();
            told_->lost_files = now > before ? now - before : 0;
            ::_exit(0);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return status;
    }

    void prepare() {
        for (const auto& entry : fs::directory_iterator(dir.path())) {
            if (entry.path() != crashed) fs::remove_all(entry.path());
        }
        if (GetParam().crashed) fs::copy_file(crashed, file);
    }

    /// A region with an unfinished epoch; on `file` the base has none.
    void make_crashed() {
        ASSERT_EQ(test::in_child([&] {
                      machine m(crashed, options());
                      must(m->put("before", "x"));
                      must(m->sync());
                      must(m->remove("before"));
                      for (u32 i = 0; i < 40; ++i) must(m->put("gone " + std::to_string(i), "y"));
                      if (GetParam().medium == medium_kind::file) {
                          must(m->remove("before"));
                          for (u32 i = 0; i < 40; ++i) must(m->remove("gone " + std::to_string(i)));
                          must(m->close());
                      }
                      ::_exit(0);
                      return 0;
                  }),
                  0);
    }

    void judge(u64 n, int status) {
        const std::string who =
            "number " + std::to_string(n) + " (" + (told_->call[0] != 0 ? told_->call : "?") + ")";
        ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << who << ": it hangs";
        ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT)
            << who << ": signal " << WTERMSIG(status);
        ASSERT_STREQ(told_->wrong, "") << who;
        ASSERT_EQ(told_->lost_files, 0U) << who << ": files were left open";
        if (!fs::exists(file)) {
            ASSERT_EQ(told_->durable, 0U) << who;
            return;
        }
        contents found;
        {
            machine m(file, options());
            found = contents_of(m.records());
            must(m->put("and", "on"));
            must(m->close());
        }
        if (GetParam().crashed) found.erase("before");
        bool legal = false;
        for (u32 count = told_->durable; count <= told_->begun && !legal; ++count) {
            legal = found == after(count, told_->refused);
            if (legal || count == told_->ended) continue;
            bool as_if[64];  // in flight when its process died: it may have been done
            std::copy(std::begin(told_->refused), std::end(told_->refused), as_if);
            if (count + 1 == told_->begun) as_if[count] = false;
            legal = found == after(count + 1, as_if);
        }
        ASSERT_TRUE(legal) << who << ": " << found.size()
                           << " records, which were never all there; " << told_->durable
                           << " writes were durable, " << told_->begun << " begun";
        ASSERT_EQ(audit_of(file), std::vector<std::string>{}) << who;
    }

    scratch_directory dir;
    fs::path file = dir / "map.hf";
    fs::path copy = dir / "copy.hf";
    fs::path crashed = dir / "crashed.hf";
    told* told_ = nullptr;
};

TEST_P(every_call, may_fail_and_the_map_is_sound) {
    if (GetParam().crashed) make_crashed();
    prepare();
    ASSERT_EQ(in_child(0), 0);
    ASSERT_STREQ(told_->wrong, "");
    ASSERT_GT(told_->calls, 20U) << "the calls are not intercepted";
    for (const u64 n : chosen()) {
        prepare();
        const int status = in_child(n);
        judge(n, status);
        if (HasFatalFailure()) return;
    }
}

constexpr scenario scenarios[] = {
    {"memory", medium_kind::shm, nth::kind::system_call, false},
    {"file", medium_kind::file, nth::kind::system_call, false},
    {"memory_after_a_crash", medium_kind::shm, nth::kind::system_call, true},
    {"allocations_memory", medium_kind::shm, nth::kind::allocation, false},
    {"allocations_file", medium_kind::file, nth::kind::allocation, false},
    {"allocations_memory_after_a_crash", medium_kind::shm, nth::kind::allocation, true},
};
INSTANTIATE_TEST_SUITE_P(faults, every_call, ::testing::ValuesIn(scenarios),
                         [](const auto& s) { return std::string(s.param.name); });

}  // namespace
}  // namespace hf::test
