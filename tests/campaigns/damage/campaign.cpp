#include "damage/campaign.hpp"

#include "base/clock.hpp"
#include "damage/damaged_image.hpp"
#include "damage/eager_trial.hpp"
#include "damage/trial.hpp"
#include "sync/patience.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace hf::damage_test {

namespace {

namespace fs = std::filesystem;

enum class outcome : u8 { harmless, refused, errors, missing, flagged, wrong, hang, crash };
constexpr unsigned outcomes = static_cast<unsigned>(outcome::crash) + 1;
constexpr std::array<const char*, outcomes> outcome_names{
    "no effect", "refused", "errors", "missing", "checked", "WRONG", "HANG", "CRASH"};

outcome outcome_of(const seen& s) {
    if (s.refused) return outcome::refused;
    if (s.errors != 0) return outcome::errors;
    if (s.missing != 0) return outcome::missing;
    return s.sound ? outcome::harmless : outcome::flagged;
}

constexpr unsigned most_workers = 64;
constexpr u64 none = ~u64{0};

struct worker_slot {
    std::atomic<u64> image{none};
    std::atomic<u64> alive_at{0};
    std::atomic<const char*> doing{""};  ///< a string literal: the same address in parent and child
    char text[256] = {};                 ///< set before an image is judged wrong
};

struct shared_state {
    std::atomic<u64> next{0};
    std::atomic<u64> tried{0};
    std::atomic<u64> operations{0};
    std::atomic<u64> errors{0};
    std::atomic<u64> longest_ns{0};
    std::atomic<u64> longest_image{0};
    std::array<std::array<std::atomic<u64>, outcomes>, parts> table{};
    std::array<worker_slot, most_workers> workers;
};

constexpr int exit_wrong = 3;

class campaign {
   public:
    explicit campaign(const campaign_options& options) : options_(options) {
        std::string pattern = (options.directory / "holdfast-damage-XXXXXX").string();
        require(::mkdtemp(pattern.data()) != nullptr, "no scratch directory");
        directory_ = pattern;
        shorten_waits();
        void* const at = ::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        require(at != MAP_FAILED, "no shared memory");
        state_ = new (at) shared_state;
        image_file file(directory_ / "victim.hf");
        targets_ = make_targets(file, options.seed, options.regions);
    }
    ~campaign() {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
        ::munmap(state_, sizeof(shared_state));
    }
    campaign(const campaign&) = delete;
    campaign& operator=(const campaign&) = delete;

    bool run() {
        begin_ = now_ns();
        if (!options_.save_to.empty()) return save();
        if (options_.only) return try_alone(*options_.only);
        for (unsigned w = 0; w < options_.workers; ++w) start(w);
        while (running_ != 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            for (unsigned w = 0; w < options_.workers; ++w) watch(w);
        }
        report();
        return bad_ == 0;
    }

   private:
    /// A process has its own region and few threads, so each wait is either short or caused by
    /// damage.
    static void shorten_waits() {
        using waits = longest_waits;
        waits::again_ns = 200'000'000;
        waits::lock_ns = 200'000'000;
    }
    [[nodiscard]] bool is_over() const {
        if (options_.images != 0) return false;
        return now_ns() - begin_ > static_cast<u64>(options_.seconds * 1e9);
    }

    [[nodiscard]] fs::path file_of(unsigned w) const {
        return directory_ / ("store-" + std::to_string(w) + ".hf");
    }

    // --- in the worker
    [[nodiscard]] seen try_image(u64 number, worker_slot& mine, image_file& file) {
        const damaged_image d = draw(targets_, options_.seed, number);
        file.write(*d.v, d.edits);
        const u64 begun = now_ns();
        const sign_of_life alive = [&](const char* what) {
            const u64 now = now_ns();
            mine.doing.store(what, std::memory_order_relaxed);
            mine.alive_at.store(now, std::memory_order_relaxed);
            return options_.only || now - begun < longest_trial_ns;
        };
        if (!d.v->keys.empty()) return try_out_eager(file.path(), *d.v, d.seed, alive);
        return try_out(file.path(), *d.v, d.seed, alive, !d.is_sealed);
    }
    [[noreturn]] void work(unsigned w) {
        worker_slot& mine = state_->workers[w];
        image_file file(file_of(w));
        while (!is_over()) {
            const u64 number = state_->next.fetch_add(1);
            if (options_.images != 0 && number >= options_.images) break;
            mine.alive_at = now_ns();
            mine.image = number;
            try {
                const u64 begun = now_ns();
                const seen s = try_image(number, mine, file);
                count(number, outcome_of(s));
                state_->operations += s.operations;
                state_->errors += s.errors;
                const u64 took = now_ns() - begun;
                if (took > state_->longest_ns) {
                    state_->longest_ns = took;
                    state_->longest_image = number;
                }
            } catch (const std::exception& why) {
                std::snprintf(mine.text, sizeof mine.text, "%s", why.what());
                ::_exit(exit_wrong);
            }
            mine.image = none;
        }
        ::_exit(0);
    }

    // --- in the parent
    void start(unsigned w) {
        state_->workers[w].image = none;
        pids_[w] = ::fork();
        require(pids_[w] >= 0, "can't fork");
        if (pids_[w] == 0) work(w);
        ++running_;
    }
    void watch(unsigned w) {
        if (pids_[w] <= 0) return;
        worker_slot& its = state_->workers[w];
        int status = 0;
        bool hangs = false;
        if (::waitpid(pids_[w], &status, WNOHANG) == 0) {
            const u64 alive = its.alive_at.load(std::memory_order_relaxed);
            const u64 now = now_ns();
            hangs = its.image != none && now > alive &&
                    now - alive > static_cast<u64>(options_.patience * 1e9);
            if (!hangs) return;
            ::kill(pids_[w], SIGKILL);
            ::waitpid(pids_[w], &status, 0);
        }
        pids_[w] = 0;
        --running_;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        const u64 number = its.image;
        if (number != none) {
            if (hangs) {
                found(number, outcome::hang, its.doing.load());
            } else if (WIFEXITED(status) && WEXITSTATUS(status) == exit_wrong) {
                found(number, outcome::wrong, its.text);
            } else {
                const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
                found(number, outcome::crash,
                      std::string(::strsignal(signal)) + " in " + its.doing.load());
            }
        }
        if (bad_ < most_bad && !is_over()) start(w);
    }

    void count(u64 number, outcome o) {
        const damaged_image d = draw(targets_, options_.seed, number);
        ++state_->table[static_cast<unsigned>(d.hit)][static_cast<unsigned>(o)];
        ++state_->tried;
    }
    void found(u64 number, outcome o, const std::string& why) {
        ++bad_;
        count(number, o);
        std::printf(
            "%s: %s\n    %s\n    again: ./dev damage --regions %s --seed %llu --image %llu\n",
            outcome_names[static_cast<unsigned>(o)], why.c_str(),
            draw(targets_, options_.seed, number).describe().c_str(), options_.regions.c_str(),
            static_cast<unsigned long long>(options_.seed),
            static_cast<unsigned long long>(number));
        std::fflush(stdout);
    }

    [[nodiscard]] bool save() const {
        const u64 first = options_.only.value_or(0);
        const u64 behind = options_.only ? first + 1 : options_.images;
        for (u64 number = first; number < behind; ++number) {
            const damaged_image d = draw(targets_, options_.seed, number);
            image_file file(options_.save_to / ("image-" + std::to_string(number) + ".hf"));
            file.write(*d.v, d.edits);
            file.keep();
        }
        return true;
    }

    bool try_alone(u64 number) {
        const damaged_image d = draw(targets_, options_.seed, number);
        std::printf("image %llu: %s\n", static_cast<unsigned long long>(number),
                    d.describe().c_str());
        std::fflush(stdout);
        try {
            image_file file(file_of(0));
            const seen s = try_image(number, state_->workers[0], file);
            std::printf("%s; the check calls it %s; %llu errors, %llu missing\n",
                        outcome_names[static_cast<unsigned>(outcome_of(s))],
                        s.sound ? "sound" : "damaged", static_cast<unsigned long long>(s.errors),
                        static_cast<unsigned long long>(s.missing));
            return true;
        } catch (const wrong& why) {
            std::printf("WRONG: %s\n", why.what());
            return false;
        }
    }

    void report() const {
        std::printf("%-14s", "damaged");
        for (const char* name : outcome_names) std::printf("%10s", name);
        std::printf("\n");
        std::array<u64, outcomes> sum{};
        const auto row = [&](const char* name, const auto& counts) {
            std::printf("%-14s", name);
            for (const auto& n : counts) {
                std::printf("%10llu", static_cast<unsigned long long>(n));
            }
            std::printf("\n");
        };
        for (unsigned p = 0; p < parts; ++p) {
            for (unsigned o = 0; o < outcomes; ++o) sum[o] += state_->table[p][o];
            row(name_of(static_cast<part>(p)), state_->table[p]);
        }
        row("all", sum);
        const double seconds = static_cast<double>(now_ns() - begin_) / 1e9;
        std::printf(
            "%llu images in %.1f s, seed %llu; %llu operations, %llu of them errors; the longest "
            "took %.1f s (image %llu); %llu bad\n",
            static_cast<unsigned long long>(state_->tried), seconds,
            static_cast<unsigned long long>(options_.seed),
            static_cast<unsigned long long>(state_->operations),
            static_cast<unsigned long long>(state_->errors),
            static_cast<double>(state_->longest_ns) / 1e9,
            static_cast<unsigned long long>(state_->longest_image),
            static_cast<unsigned long long>(bad_));
    }

    static constexpr u64 most_bad = 50;
    /// If each operation waits for damaged data, only some operations are tried.
    static constexpr u64 longest_trial_ns = 3'000'000'000;

    campaign_options options_;
    fs::path directory_;
    shared_state* state_ = nullptr;
    std::vector<target> targets_;
    std::array<pid_t, most_workers> pids_{};
    unsigned running_ = 0;
    u64 bad_ = 0;
    u64 begin_ = 0;
};

}  // namespace

bool run_campaign(const campaign_options& options) { return campaign(options).run(); }

}  // namespace hf::damage_test
