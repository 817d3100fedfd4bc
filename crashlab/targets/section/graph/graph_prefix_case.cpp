#include "crashlab/targets/section/graph/graph_prefix_case.hpp"

#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/want.hpp"
#include "section/graph/graph.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace hf::lab {
namespace {

constexpr u64 stores_of_a_round = 3;
constexpr u64 numbers_of_a_session = 10'000;  ///< of operations
constexpr unsigned last_of_a_line = 7;        ///< words

/// The words that are stored to. Each store writes its round's number.
struct stored_words {
    u64 last;    ///< in the first line
    u64 first;   ///< of the pair: the end of the first line
    u64 second;  ///< of the pair: the beginning of the second line
    u64 flag;    ///< in the second line
    friend bool operator==(const stored_words&, const stored_words&) = default;
};

enum class store_kind { pair, flag, last };

constexpr u64 round_of(u64 k) { return k / stores_of_a_round + 1; }
/// Store k of all, from 0 on.
constexpr store_kind kind_of(u64 k) {
    if (k % stores_of_a_round == 2) return store_kind::last;
    const bool is_first = k % stores_of_a_round == 0;
    return is_first == (round_of(k) % 2 == 1) ? store_kind::pair : store_kind::flag;
}

constexpr stored_words after(stored_words w, u64 k) {
    const u64 round = round_of(k);
    switch (kind_of(k)) {
        case store_kind::pair:
            w.first = w.second = round;
            break;
        case store_kind::flag:
            w.flag = round;
            break;
        case store_kind::last:
            w.last = round;
    }
    return w;
}

/// How many whole stores have led to these words. Throws violation.
u64 stores_in(const stored_words& found) {
    const u64 rounds = found.last;
    stored_words w{rounds, rounds, rounds, rounds};
    for (u64 k = rounds * stores_of_a_round; k < (rounds + 1) * stores_of_a_round; ++k) {
        if (w == found) return k;
        const stored_words next = after(w, k);
        const bool is_pair = kind_of(k) == store_kind::pair;
        if (is_pair && found == stored_words{w.last, next.first, w.second, w.flag}) return k;
        if (is_pair && found == stored_words{w.last, w.first, next.second, w.flag}) return k;
        w = next;
    }
    throw violation("last " + std::to_string(found.last) + ", pair " + std::to_string(found.first) +
                    " and " + std::to_string(found.second) + ", flag " +
                    std::to_string(found.flag) + ": no prefix of the stores");
}

class prefix_session {
   public:
    /// Opens the file, and goes on where its words say.
    explicit prefix_session(u64 number) : number_(number) {
        region_options o;
        o.initial_size = 2 * layout::page_size;
        o.max_size = u64{60} << 20;
        o.flush = flush_policy::always;
        region_ = want(region::open(file_path, o));
        if (region_->segments().empty()) want(region_->grow(segment_kind::heap, 1, 0));
        graph::graph_options g;
        g.log_bytes = layout::page_size;
        g.period = std::chrono::microseconds(0);
        mode_ = want(graph::graph_mode::open(*region_, g));
        lane_ = want(mode_->attach(1));
        next_ = stores_in(found());
    }
    prefix_session(const prefix_session&) = delete;
    prefix_session& operator=(const prefix_session&) = delete;
    /// It ends without an end: one in order would write back.
    ~prefix_session() { static_cast<void>(mode_.release()); }

    void store(unsigned count) {
        for (unsigned i = 0; i < count; ++i) store_next();
        const u64 name = number_ * numbers_of_a_session + next_;
        begin_operation(name);
        want(mode_->wait_stable(*lane_, std::chrono::milliseconds(1000)));
        end_operation(name);
    }
    void judge(const promised& all) const {
        const u64 stores = stores_in(found());
        for (const auto& [name, told] : all.operations) {
            require(!told.has_returned() || stores >= name % numbers_of_a_session,
                    "a store that was stable is lost");
        }
    }

   private:
    [[nodiscard]] u64* line(unsigned n) const {
        return region_->at<u64>(layout::page_size + n * line_size);
    }
    [[nodiscard]] stored_words found() const {
        return {line(0)[0], line(0)[last_of_a_line], line(1)[0], line(1)[1]};
    }
    void put(u64* first, unsigned words) {
        mode_->before_store(*lane_, first, words * sizeof(u64));
        for (unsigned i = 0; i < words; ++i) {
            __atomic_store_n(first + i, round_of(next_), __ATOMIC_RELEASE);
        }
    }
    void store_next() {
        switch (kind_of(next_)) {
            case store_kind::pair:
                put(line(0) + last_of_a_line, 2);
                break;
            case store_kind::flag:
                put(line(1) + 1, 1);
                break;
            case store_kind::last:
                put(line(0), 1);
        }
        ++next_;
    }

    u64 number_;
    std::unique_ptr<region> region_;
    std::unique_ptr<graph::graph_mode> mode_;
    graph::lane_state* lane_ = nullptr;
    u64 next_ = 0;
};

class prefix_survivor final : public survivor {
   public:
    prefix_survivor(u64 number, const promised& all)
        : number_(number), promised_(all), session_(new prefix_session(number)) {
        session_->judge(promised_);
    }
    void crash() override { session_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<prefix_survivor>(number_ + 1, all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { session_->judge(promised_); }
    void inspect() override { session_->judge(promised_); }
    void work_on() override { session_->store(4); }

   private:
    u64 number_;
    promised promised_;
    std::unique_ptr<prefix_session> session_;
};

class prefix_target final : public target {
   public:
    void prepare() override { session_ = std::make_unique<prefix_session>(0); }
    void run() override {
        session_->store(7);
        session_->store(5);
    }
    void crash() override { session_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<prefix_survivor>(1, all);
    }

   private:
    std::unique_ptr<prefix_session> session_;
};

}  // namespace

target_description graph_prefix_case() {
    return {"section_graph.prefix",
            "section/graph",
            "stores outside of sections, across lines, without an undo entry",
            [](u64) { return std::make_unique<prefix_target>(); },
            {"section_graph G6: session number durable before its first log",
             "section_graph G7: a store without an entry durable before the next"}};
}

}  // namespace hf::lab
