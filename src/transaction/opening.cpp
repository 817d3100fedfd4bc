#include "transaction/opening.hpp"

#include "base/check.hpp"
#include "transaction/transaction_area.hpp"

#include <utility>

namespace hf {

std::span<const upgrade_step> transaction_upgrades() noexcept {
    constexpr auto nothing = [](region&) -> result<void> { return {}; };
    static const upgrade_step steps[] = {{layout::name_of(transaction_format), 1, 2, nothing},
                                         {layout::name_of(transaction_format), 2, 3, nothing}};
    return steps;
}

result<void> transactional_region::close() {
    HF_CHECK(is_open(), "a region of transactions is closed once");
    if (auto ok = engine_->close(*epochs_); !ok) return ok;
    if (auto ok = epochs_->close(); !ok) return ok;
    transactions_.reset();
    engine_.reset();
    heap_.reset();
    epochs_.reset();
    opened_ = {};
    return {};
}

transaction_opening::transaction_opening(transactional_region& up,
                                         const transaction_options& options)
    : up_(up), options_(options), driver_(up.opened_.steps) {
    driver_.add(recovery_phase::epochs, "epochs", [this] { return read_epochs(); });
    driver_.add(recovery_phase::logs, "commit records", [this] { return apply_logs(); });
    driver_.add(recovery_phase::allocator, "allocator", [this] { return open_heap(); });
    driver_.add(recovery_phase::discipline, "session", [this] { return begin_session(); });
}

void transaction_opening::add(recovery_phase phase, std::string name, step what) {
    driver_.add(phase, std::move(name), std::move(what));
}

result<void> transaction_opening::run() {
    driver_.add(recovery_phase::service, "clock", [this]() -> result<void> {
        up_.epochs().start_clock();
        return {};
    });
    return driver_.run();
}

result<void> transaction_opening::read_epochs() {
    const transaction_area area = transaction_area_of(up_.file().super());
    const bool is_new = up_.file().super().generation == 0;
    up_.kind_ = is_new ? options_.engine : area.engine;
    if (!is_known(up_.kind_)) {
        return failure(unknown_engine(up_.file()));
    }
    auto epochs = epoch_manager::open(up_.opened_, options_);
    if (!epochs) return tl::unexpected(epochs.error());
    up_.epochs_ = std::move(*epochs);
    return {};
}

result<void> transaction_opening::apply_logs() {
    const auto interrupted = up_.epochs().interrupted_epoch();
    if (!interrupted) return {};
    auto applied = row_of(up_.kind_).recover(up_.file(), *interrupted);
    if (!applied) return tl::unexpected(applied.error());
    up_.recovered_ = *applied;
    return {};
}

result<void> transaction_opening::open_heap() {
    up_.heap_ = std::make_unique<committed_heap>(up_.file());
    return up_.heap_->open();
}

result<void> transaction_opening::begin_session() {
    const auto write_engine = [this](layout::superblock& s) {
        layout::write_area(s.discipline_area, transaction_area{up_.kind_, 0});
    };
    if (auto ok = up_.epochs().start(write_engine); !ok) return ok;
    up_.engine_ = make_engine(up_.kind_, up_.file(), up_.epochs().durable(), options_.kept);
    if (auto ok = up_.engine_->open(); !ok) return ok;
    up_.transactions_ =
        std::make_unique<transactions>(up_.epochs(), up_.heap(), *up_.engine_, options_.kept);
    return {};
}

}  // namespace hf
