// plain/machine.hpp: transactions on plain memory of one thread: a region, a working image, and the
// shadow engine.
//
// Purpose. Programs without accessors load and store as in any memory; commit() makes everything
// since the last commit durable, all of it or nothing; abort() takes it back. Nothing reports
// stores: changed pages are found by write protection, changed lines by comparison with their
// homes (working_image.hpp). A commit is one transaction of the rooms below, of whole lines: the
// shadow engine writes each line once, to its slot that is not committed, and one packed record.
//
//     program         working image          region, on the medium
//     stores ───────> image, in DRAM         home | second slot | table | record
//     commit()  lines that differ ─────────> each to its slot that is not committed; a record;
//               durable; then the homes are stored to, in the caches: they equal the image
//     abort()   lines that differ <───────── from their homes
//
// On the medium. The engine's data (transaction/shadow_slots.hpp), and segments of kind memory,
// whose bytes are the program's. They are appended by the region, zeroed, at an open that asks for
// more bytes; a crash leaves them whole or not at all, so this room writes nothing to the medium by
// itself, and orders nothing: S1 to S5 of transaction/shadow_engine.cpp and SR1 to SR6 of
// transaction/shadow_recovery.hpp are all there is. A line is whole in its transaction, so up to 64
// lines take one fence, and more take two.
//
// Recovery. The region's: homes have the last commit. The image is made from them afterwards.
//
// Bounds. As many second slots as the memory has pages, at most half of what the region may have; a
// commit that changes more pages than can have one is refused (errc::no_space), and so is one whose
// record does not fit the log. It changes nothing: the program may abort(), or store less and try
// again.
//
// Concurrency. One thread, the one that opened. In a child of fork() commits, aborts and waits are
// refused: written_pages reports the parent's stores there, not the child's.
#pragma once

#include "plain/working_image.hpp"
#include "sync/fork.hpp"
#include "transaction/opening.hpp"

#include <thread>

namespace hf::plain {

inline constexpr layout::room_format plain_format{"plain", 1};

struct machine_options {
    region_options file;
    u64 bytes = u64{64} << 20;  ///< minimum size of the memory
    working_image::way tracking = working_image::way::written;
};

class machine {
   public:
    /// Opens or creates, recovers, and maps the memory.
    [[nodiscard]] static result<std::unique_ptr<machine>> open(const std::filesystem::path& path,
                                                               const machine_options& options);

    /// Marks the region clean. Changes that are not committed are lost.
    [[nodiscard]] result<void> close();

    /// The epoch of the newest commit; 0: nothing was committed in this session.
    [[nodiscard]] result<u64> commit();
    [[nodiscard]] result<void> abort();
    [[nodiscard]] result<void> wait_durable(u64 t);

    [[nodiscard]] std::span<std::byte> memory() const noexcept { return image_->memory(); }
    [[nodiscard]] const working_image& image() const noexcept { return *image_; }
    [[nodiscard]] const transactional_region& below() const noexcept { return up_; }
    [[nodiscard]] region& file() const noexcept { return up_.file(); }
    [[nodiscard]] bool is_inherited() const noexcept { return made_in_.is_inherited(); }
    [[nodiscard]] u64 commits() const noexcept { return commits_; }
    [[nodiscard]] u64 aborts() const noexcept { return aborts_; }
    [[nodiscard]] u64 lines_committed() const noexcept { return lines_; }

   private:
    explicit machine(opened_region opened) : up_(std::move(opened)) {}
    [[nodiscard]] result<void> find_memory(u64 bytes);
    [[nodiscard]] result<void> accept(const char* what) const;

    transactional_region up_;
    std::unique_ptr<working_image> image_;
    process_mark made_in_;
    const std::thread::id owner_ = std::this_thread::get_id();
    u64 newest_ = 0;
    u64 commits_ = 0;  ///< that changed something
    u64 aborts_ = 0;
    u64 lines_ = 0;
};

}  // namespace hf::plain
