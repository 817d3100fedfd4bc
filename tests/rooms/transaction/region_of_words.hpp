// tests/rooms/transaction/region_of_words.hpp: a region of transactions with some words to change:
// a block found by a root.
#pragma once

#include "epoch/epoch_area.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <filesystem>
#include <memory>

namespace hf::test {

class region_of_words {
   public:
    static constexpr u64 words = 1024;

    struct how {
        engine_kind engine = engine_kind::redo;
        flush_policy flush = flush_policy::always;
        std::optional<medium_kind> medium = std::nullopt;
        image_kind image = image_kind::automatic;
        std::chrono::microseconds epoch = no_clock;
        u64 initial_size = u64{4} << 20;
        u64 max_size = u64{64} << 20;
        detail::isolation kept = detail::isolation::threads;
    };

    region_of_words(const std::filesystem::path& path, const how& h) {
        static constexpr layout::room_format rooms[] = {epoch_format, alloc_format,
                                                        transaction_format};
        opening_options o;
        o.file.kind = discipline::transaction;
        o.file.initial_size = h.initial_size;
        o.file.max_size = h.max_size;
        o.file.flush = h.flush;
        o.file.medium = h.medium;
        o.file.image = h.image;
        o.rooms = rooms;
        o.upgrades = transaction_upgrades();
        up = std::make_unique<transactional_region>(must(open_region(path, o)));
        transaction_options t;
        t.epoch = h.epoch;
        t.engine = h.engine;
        t.kept = h.kept;
        transaction_opening steps(*up, t);
        steps.add(recovery_phase::discipline, "words", [this] { return find_words(); });
        must(steps.run());
    }
    explicit region_of_words(const std::filesystem::path& path) : region_of_words(path, how{}) {}

    [[nodiscard]] transactions& all() const { return up->all(); }
    [[nodiscard]] u64* word(u64 i) const { return up->file().at<u64>(offset + 8 * i); }
    /// Outside of a transaction.
    [[nodiscard]] u64 now(u64 i) const { return __atomic_load_n(word(i), __ATOMIC_ACQUIRE); }

    std::unique_ptr<transactional_region> up;
    u64 offset = 0;

   private:
    result<void> find_words() {
        if (auto found = up->file().find_root("words")) {
            offset = (*found)->value.load();
            return {};
        }
        must(all().atomic([&](transaction& t) {
            std::byte* p = t.allocate(8 * words);
            for (u64 i = 0; i < words; ++i) t.store(reinterpret_cast<u64*>(p) + i, 0);
            offset = up->file().offset_of(p);
        }));
        must(up->file().publish_root("words", 1, 1, offset));
        return {};
    }
};

/// As a kill would leave it: nothing is closed.
inline void crash(std::unique_ptr<region_of_words>& r) { r.reset(); }

}  // namespace hf::test
