#include "crashlab/targets/image/in_place_case.hpp"

#include "crashlab/lint/lint.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/want.hpp"
#include "epoch/epoch_area.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <algorithm>
#include <string>

namespace hf::lab {
namespace {

constexpr unsigned words = 6;  ///< each in a line of its own
constexpr u64 block_bytes = words * line_size;

class opened_words {
   public:
    opened_words() {
        static constexpr layout::room_format rooms[] = {epoch_format, alloc_format,
                                                        transaction_format};
        opening_options o;
        o.file.kind = discipline::transaction;
        o.file.initial_size = u64{2} << 20;
        o.file.max_size = u64{60} << 20;
        o.file.flush = flush_policy::always;
        o.rooms = rooms;
        up_ = std::make_unique<transactional_region>(want(open_region(file_path, o)));
        transaction_options t;
        t.epoch = no_clock;
        t.kept = detail::isolation::in_place;
        transaction_opening steps(*up_, t);
        steps.add(recovery_phase::discipline, "words", [this] { return find_words(); });
        want(steps.run());
    }

    [[nodiscard]] u64 now(unsigned i) const { return __atomic_load_n(word(i), __ATOMIC_ACQUIRE); }
    /// Operation `number` stores its number to one word as a whole, and to another in halves.
    void run(u64 number) {
        begin_operation(number);
        want(up_->all().atomic([&](transaction& t) {
            t.store(word(first_of(number)), number);
            auto* const halves = reinterpret_cast<u32*>(word(second_of(number)));
            t.store(halves, static_cast<u32>(number));
            t.store(halves + 1, u32{0});
        }));
        up_->epochs().end_epoch();
        end_operation(number);
    }
    [[nodiscard]] static unsigned first_of(u64 number) {
        return static_cast<unsigned>(number % words);
    }
    [[nodiscard]] static unsigned second_of(u64 number) { return first_of(number + 1); }

   private:
    [[nodiscard]] result<void> find_words() {
        if (auto found = up_->file().find_root("words")) {
            offset_ = (*found)->value.load(std::memory_order_acquire);
            return {};
        }
        auto made = up_->all().atomic([&](transaction& t) {
            std::byte* const p = t.allocate(block_bytes);
            offset_ = up_->file().offset_of(p);
            for (unsigned i = 0; i < words; ++i) t.store(word(i), u64{0});
        });
        if (!made) return made;
        auto root = up_->file().publish_root("words", 1, 1, offset_);
        return root ? result<void>{} : tl::unexpected(root.error());
    }
    [[nodiscard]] u64* word(unsigned i) const {
        return up_->file().at<u64>(offset_ + i * line_size);
    }

    std::unique_ptr<transactional_region> up_;
    u64 offset_ = 0;
};

/// Each word must have the value of its last operation that returned, or of a later one.
class kept_words final : public survivor {
   public:
    explicit kept_words(promised all) : promised_(std::move(all)), open_(new opened_words) {}

    void crash() override { open_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<kept_words>(all);
    }
    [[nodiscard]] unsigned questions() const override { return words; }
    void ask(unsigned i) override {
        u64 least = 0;
        for (const auto& [number, told] : promised_.operations) {
            if (told.has_returned() && stores_to(number, i)) least = std::max(least, number);
        }
        const u64 found = open_->now(i);
        require(found >= least, "what was stored in an epoch that has ended is lost");
        require(found == 0 || (promised_.has_begun(found) && stores_to(found, i)),
                "a word is not what anybody has stored");
    }
    void inspect() override {
        for (unsigned i = 0; i < words; ++i) ask(i);
    }
    void work_on() override {
        const u64 last = promised_.operations.empty() ? 0 : promised_.operations.rbegin()->first;
        for (u64 i = 1; i <= words; ++i) open_->run(last + i);
    }

   private:
    [[nodiscard]] static bool stores_to(u64 number, unsigned i) {
        return opened_words::first_of(number) == i || opened_words::second_of(number) == i;
    }

    promised promised_;
    std::unique_ptr<opened_words> open_;
};

class storing final : public target {
   public:
    explicit storing(u64 seed) : first_(1 + seed % words) {}

    void prepare() override { open_ = std::make_unique<opened_words>(); }
    void run() override {
        for (u64 i = 0; i < words; ++i) open_->run(first_ + i);
    }
    void crash() override { open_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<kept_words>(all);
    }

   private:
    std::unique_ptr<opened_words> open_;
    u64 first_;
};

/// A line is recorded at each store to it, so it may be flushed twice.
const lint_rules& in_place_rules() {
    static const lint_rules rules = [] {
        lint_rules r = project_rules();
        r.silent.push_back(rule::flush_of_clean_line);
        return r;
    }();
    return rules;
}

}  // namespace

target_description in_place_case() {
    target_description d{"transaction.in_place",
                         "transaction",
                         "stores go in place at once, and are durable with the epoch",
                         [](u64 seed) { return std::make_unique<storing>(seed); },
                         {"epoch E1: every dirty line durable before the epoch is counted"}};
    d.rules = &in_place_rules();
    return d;
}

}  // namespace hf::lab
