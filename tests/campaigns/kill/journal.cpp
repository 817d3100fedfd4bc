#include "journal.hpp"

#include "base/check.hpp"

#include <sys/mman.h>

#include <new>

namespace hf::kill_test {

namespace {

/// Allocates arrays from a mapping; without one it only counts.
class cutter {
   public:
    explicit cutter(std::byte* memory) : memory_(memory) {}

    template <class T>
    T* cut(std::size_t count) {
        bytes_ = align_up(bytes_, line_size);
        T* first = nullptr;
        if (memory_ != nullptr) {
            first = reinterpret_cast<T*>(memory_ + bytes_);
            for (std::size_t i = 0; i < count; ++i) new (first + i) T{};
        }
        bytes_ += count * sizeof(T);
        return first;
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

   private:
    std::byte* memory_;
    std::size_t bytes_ = 0;
};

}  // namespace

journal::journal(u32 writers, u32 keys, u32 records_per_writer)
    : writers_(writers), keys_(keys), capacity_(records_per_writer) {
    const auto lay_out = [&](cutter& c) {
        session_ = c.cut<session_state>(1);
        complaints_ = c.cut<complaints>(1);
        states_ = c.cut<writer_state>(writers);
        known_ = c.cut<key_state>(keys);
        observed_ = c.cut<observation>(keys);
    };
    cutter counting(nullptr);
    lay_out(counting);
    // The records rely on the kernel's zero pages: most of them are never touched.
    const std::size_t head = align_up(counting.bytes(), line_size);
    bytes_ = head + std::size_t{writers} * capacity_ * sizeof(write_record);
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(mapped != MAP_FAILED, "no memory for the journal");
    memory_ = static_cast<std::byte*>(mapped);
    cutter cutting(memory_);
    lay_out(cutting);
    records_ = reinterpret_cast<write_record*>(memory_ + head);
}

journal::~journal() { munmap(memory_, bytes_); }

void journal::clear() noexcept {
    for (u32 i = 0; i < writers_; ++i) {
        states_[i].records = 0;
        states_[i].told = 0;
    }
    std::fill_n(known_, keys_, key_state{});
    complaints_->clear();
}

}  // namespace hf::kill_test
