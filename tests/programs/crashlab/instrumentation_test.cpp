// The compiler's instrumentation reports every access of a room before it is executed, also those
// that an optimiser would join to vectors.
#include "crashlab/runtime/observer.hpp"
#include "crashlab/seeded/wide_access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hf::lab {
namespace {

constexpr std::size_t most = 1024;

/// Fills a line when the line is first read, as image does: a load that is not reported gets zeros.
class late_lines final : public observer {
   public:
    explicit late_lines(std::byte* memory) : memory_(memory) {}

    void reading(u64 at, u64 size, u64, bool) override {
        for (u64 line = at / line_size; line <= (at + size - 1) / line_size; ++line) {
            if (filled_.at(line)) continue;
            filled_[line] = true;
            for (u64 i = 0; i < line_size; ++i) {
                memory_[line * line_size + i] = content(line * line_size + i);
            }
        }
    }
    void writing(u64 at, u64 size, ordering, u64) override {
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at), size, true);
    }
    static std::byte content(u64 i) noexcept { return static_cast<std::byte>(7 * i + 1); }

    std::array<bool, most> written{};

   private:
    std::byte* memory_;
    std::array<bool, most / line_size> filled_{};
};

class instrumentation : public testing::Test {
   protected:
    /// Calls f with memory that is all zeros until the instrumentation reports a load.
    template <class F>
    auto with_late_lines(F&& f) {
        std::ranges::fill(memory_, std::byte{});
        late_lines lines(memory_.data());
        watch_for(&lines, memory_.data(), most);
        auto result = f(memory_.data());
        watch_for(nullptr, nullptr, 0);
        written_ = lines.written;
        return result;
    }
    static u64 word(u64 i) {
        u64 value = 0;
        for (u64 b = 8; b-- != 0;) {
            value = value << 8 | static_cast<u64>(late_lines::content(8 * i + b));
        }
        return value;
    }

    alignas(line_size) std::array<std::byte, most> memory_;
    std::array<bool, most> written_{};
};

TEST_F(instrumentation, reports_all_loads_of_a_checksum_before_they_are_executed) {
    std::array<std::byte, most> whole;
    for (u64 i = 0; i < most; ++i) whole[i] = late_lines::content(i);
    for (std::size_t n = 1; n <= most; ++n) {
        const u64 wanted = seeded::checksum_of(std::span(whole).first(n));
        const u64 found =
            with_late_lines([&](std::byte* p) { return seeded::checksum_of({p, n}); });
        ASSERT_EQ(found, wanted) << n << " bytes";
    }
}

TEST_F(instrumentation, reports_loads_of_neighbouring_words) {
    std::vector<u64> changed(most / 8);
    for (const std::size_t n : {std::size_t{8}, std::size_t{100}}) {
        with_late_lines([&](const std::byte* p) {
            const auto* words = reinterpret_cast<const u64*>(p);
            if (n == 8) {
                seeded::change_words(changed.data(), words);
            } else {
                seeded::change_many(changed.data(), words, n);
            }
            return true;
        });
        for (u64 i = 0; i < n; ++i) EXPECT_EQ(changed[i], 3 * word(i) + i);
    }
}

TEST_F(instrumentation, reports_stores_to_neighbouring_words) {
    const std::vector<u64> from(most / 8, 1);
    for (const std::size_t n : {std::size_t{8}, std::size_t{100}}) {
        with_late_lines([&](std::byte* p) {
            auto* words = reinterpret_cast<u64*>(p);
            if (n == 8) {
                seeded::change_words(words, from.data());
            } else {
                seeded::change_many(words, from.data(), n);
            }
            return true;
        });
        EXPECT_EQ(std::ranges::count(written_, true), static_cast<std::ptrdiff_t>(8 * n));
    }
}

}  // namespace
}  // namespace hf::lab
