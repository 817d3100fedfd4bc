// The table of engines, and the one that has nothing to do.
#include "base/check.hpp"
#include "transaction/commit_engine.hpp"
#include "transaction/shadow_recovery.hpp"
#include "transaction/transaction_area.hpp"

#include <array>

namespace hf {
namespace {

constexpr std::array rows{
    engine_row{engine_kind::redo, "redo", apply_records, make_redo_engine},
    engine_row{engine_kind::undo, "undo", apply_records, make_undo_engine},
    engine_row{engine_kind::shadow, "shadow", recover_shadow, make_shadow_engine},
};
constexpr auto kinds = [] {
    std::array<engine_kind, rows.size()> all{};
    for (std::size_t i = 0; i < rows.size(); ++i) all[i] = rows[i].kind;
    return all;
}();

const engine_row* find(engine_kind kind) noexcept {
    for (const engine_row& r : rows) {
        if (r.kind == kind) return &r;
    }
    return nullptr;
}

/// Epochs reach the medium whole, or not at all; or nothing is to survive.
class no_engine final : public commit_engine {
   public:
    no_engine(region& r, bool waits) : commit_engine(r), waits_(waits) {}

    [[nodiscard]] bool waits() const noexcept override { return waits_; }
    result<void> prepare(context& t) override {
        static_cast<void>(t.heap_changes());
        return {};
    }
    void commit(context& t, u64) noexcept(!crashes_throw) override {
        t.note_fresh();
        t.place_lines();
        t.place_heap_changes();
    }

   private:
    const bool waits_;
};

}  // namespace

std::span<const engine_kind> all_engines() noexcept { return kinds; }

bool is_known(engine_kind kind) noexcept { return find(kind) != nullptr; }

std::string_view to_string(engine_kind kind) noexcept {
    const engine_row* const row = find(kind);
    return row != nullptr ? row->name : "unknown";
}

const engine_row& row_of(engine_kind kind) noexcept {
    const engine_row* const row = find(kind);
    HF_CHECK(row != nullptr, "an engine that is unknown here");
    return *row;
}

error unknown_engine(const region& r) {
    return {errc::incompatible, "open the region", r.path().string(),
            "its transactions are committed by an engine that is unknown here",
            "use the version that made it"};
}

result<const engine_row*> engine_of(const region& r) {
    const engine_row* const row = find(transaction_area_of(r.super()).engine);
    if (row == nullptr) return failure(unknown_engine(r));
    return row;
}

std::unique_ptr<commit_engine> make_engine(engine_kind kind, region& r, bool durable,
                                           detail::isolation kept) {
    const bool in_place = kept == detail::isolation::in_place;
    if (!durable || r.is_volatile() || r.med().is_atomic() || in_place) {
        return std::make_unique<no_engine>(r, durable && r.med().is_atomic());
    }
    return row_of(kind).make(r);
}

}  // namespace hf
