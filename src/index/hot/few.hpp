// hot/few.hpp: a list that rarely has more than N elements: the first N are stored in the object.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <array>
#include <vector>

namespace hf::hot_detail {

template <class T, u32 N>
class few {
   public:
    few() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the array uninitialised
    void push(const T& x) {
        if (count_ < N) [[likely]] {
            first_[count_++] = x;
            return;
        }
        more_.push_back(x);
        ++count_;
    }
    void pop() {
        if (count_-- > N) more_.pop_back();
    }
    void clear() noexcept {
        count_ = 0;
        more_.clear();
    }
    void cut(u32 count) {
        while (count_ > count) pop();
    }
    [[nodiscard]] u32 size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] T& operator[](u32 i) noexcept {
        HF_ASSERT(i < count_, "behind the last one lies what was there before");
        return i < N ? first_[i] : more_[i - N];
    }
    [[nodiscard]] const T& operator[](u32 i) const noexcept {
        HF_ASSERT(i < count_, "behind the last one lies what was there before");
        return i < N ? first_[i] : more_[i - N];
    }
    [[nodiscard]] T& back() noexcept { return (*this)[count_ - 1]; }

   private:
    u32 count_ = 0;
    std::array<T, N> first_;  // NOLINT(cppcoreguidelines-pro-type-member-init): by count
    std::vector<T> more_;
};

}  // namespace hf::hot_detail
