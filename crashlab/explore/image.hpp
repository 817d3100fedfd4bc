// explore/image.hpp: the memory of a region after a crash, determined lazily.
//
// Purpose. Recovery and queries run on the region's own memory. A line that may have several
// contents (model/crash_model.hpp) gets one when it is first read or written. Every change
// is undone afterwards, line by line. So the cost of a run depends on the lines it touches, not on
// the region's size (lazy exploration: Gorjiara et al., "Jaaru", ASPLOS 2021).
//
// Invariants.
//  I1  Outside of runs the memory holds the model's floors.
//  I2  A line's state byte has: undetermined (top bit), and the level at which its content was
//      saved.
//  I3  rollback(m) restores content and state of every line touched since mark() returned m.
#pragma once

#include "crashlab/explore/choices.hpp"
#include "crashlab/model/crash_model.hpp"
#include "crashlab/runtime/observer.hpp"
#include "crashlab/trace/recorder.hpp"

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hf::lab {

class image final : public observer {
   public:
    /// `memory`: where regions are mapped, a window apart; `before`: their contents before the
    /// trace, one after the other, with `size` bytes in total.
    image(std::byte* memory, const std::byte* before, u64 size);

    /// Loads the model's state; no line is determined yet.
    void load(const crash_model& m);

    /// Begins a run: from here on accesses determine lines, by `how`. `behind`, if given, is also
    /// notified of every write.
    void begin(choices& how, recorder* behind = nullptr);
    void end();

    struct file_as_decided {
        std::optional<u64> length;
        std::optional<bool> linked;
    };
    struct place {
        std::size_t undo = 0;
        std::size_t decided = 0;
        u64 digest = 0;
        u8 level = 0;
        std::array<file_as_decided, most_files> files;
    };
    [[nodiscard]] place mark();
    void rollback(const place& p);

    struct decision {
        u64 line = 0;
        const version* taken = nullptr;
        u32 number = 0;
    };
    /// Lines determined in this run.
    [[nodiscard]] const std::vector<decision>& decided() const noexcept { return decided_; }
    /// Digest of the lines determined so far.
    [[nodiscard]] u64 digest() const noexcept { return digest_; }
    /// True if a line of the loaded model had more contents than were tried.
    [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }
    /// Accesses since begin(): the explorer stops a recovery that does not terminate.
    [[nodiscard]] u64 accesses() const noexcept { return accesses_; }

    // --- the file, for runtime/file.cpp ---
    [[nodiscard]] u64 file_length(unsigned file);
    void set_file_length(unsigned file, u64 bytes);
    [[nodiscard]] bool file_linked(unsigned file);
    void set_file_linked(unsigned file);
    [[nodiscard]] recorder* behind() noexcept { return behind_; }
    /// [at, at + size) is about to be written by code that records the write itself.
    void touch(u64 at, u64 size);

    void reading(u64 at, u64 size, u64 pc, bool acquires) override;
    void writing(u64 at, u64 size, ordering how, u64 pc) override;

    /// Thrown (by longjmp of the explorer) when a run takes too long; set by the explorer.
    static constexpr u64 most_accesses = 200'000'000;
    void (*on_endless)() = nullptr;

   private:
    static constexpr u8 unsure = 0x80;

    struct saved_line {
        u64 line;
        line_content content;
        u8 state;
    };

    [[nodiscard]] std::byte* at(u64 line) const noexcept {
        return memory_ + offset_of(line * line_size);
    }
    void save(u64 line);
    void decide(u64 line);
    const std::vector<version>& versions_of(u64 line);
    void put_back(u64 line);

    std::byte* memory_;
    const std::byte* before_;
    u64 size_;
    const crash_model* model_ = nullptr;
    std::vector<u8> state_;
    std::vector<u64> loaded_;  ///< lines that differ from `before`
    u8 level_ = 1;
    std::vector<saved_line> undo_;
    std::vector<decision> decided_;
    std::unordered_map<u64, std::vector<version>> versions_;
    choices* choices_ = nullptr;
    recorder* behind_ = nullptr;
    u64 digest_ = 0;
    u64 accesses_ = 0;
    bool incomplete_ = false;
    std::array<file_as_decided, most_files> files_;
};

}  // namespace hf::lab
