// tests/rooms/recovery/journal_beside.hpp: a region on the medium `file` and the journal beside it,
// as a session that was cut short has left them.
#pragma once

#include "journal/core.hpp"
#include "recovery/redo.hpp"
#include "region/header.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>
#include <map>
#include <vector>

namespace hf::test {

class journal_beside : public on_tmpfs {
   protected:
    nothing_lost check;
    static constexpr u64 page_size = layout::page_size;
    static constexpr journal::geometry small{.segment_bytes = 4 * journal::page, .segments = 4};

    /// Not closed, of session `who.generation`, and with the state of the end of `epoch`.
    void make_base(u64 epoch = 5, u64 pages = 4) {
        std::filesystem::remove(file);
        make_region(file, pages);
        change_superblocks(file, [this](layout::superblock& s) {
            s.medium = medium_kind::file;
            s.clean = 0;
            s.generation = who.generation;
            std::memcpy(s.uuid, who.region.data(), sizeof s.uuid);
        });
        layout::epoch_record e;
        layout::epoch_record_init(e, epoch + 1);
        patch(file, offsetof(layout::header, epoch), static_cast<const void*>(&e), sizeof e);
    }
    /// Of records that bring these lines the bytes of their number each, on top of `base_epoch`;
    /// and as those of a session do, say in the header which epoch that is, if they are to.
    void make_journal(const std::vector<std::vector<u64>>& records, u64 base_epoch = 5,
                      bool says_epochs = false) {
        std::filesystem::remove(journal_file);
        write_file(journal_file, {});
        const auto both = disks();
        const auto core =
            must(journal::core::start(*both.journal, *both.base, who, base_epoch, small));
        u8 number = 0;
        for (std::vector<u64> lines : records) {
            std::vector<std::byte> data(lines.size() * line_size, std::byte{++number});
            if (says_epochs) {
                layout::epoch_record e;
                layout::epoch_record_init(e, base_epoch + number + 1);
                const auto* const bytes = reinterpret_cast<const std::byte*>(&e);
                data.insert(data.begin(), bytes, bytes + line_size);
                lines.insert(lines.begin(), offsetof(layout::header, epoch) / line_size);
            }
            must(core->commit({base_epoch + number, lines, data.data()}));
        }
    }
    /// Its header says this.
    void change_header(const std::function<void(journal::header_facts&)>& change) {
        const auto both = disks();
        auto facts = must(journal::read_header(*both.journal));
        change(facts);
        for (int slot = 0; slot < 2; ++slot) {
            ++facts.serial;
            must(journal::write_header(*both.journal, facts));
        }
    }
    [[nodiscard]] std::unique_ptr<layout::header> header() const {
        auto h = detail::blank_header();
        const auto bytes = read_file(file);
        std::memcpy(static_cast<void*>(h.get()), bytes.data(), sizeof *h);
        return h;
    }
    [[nodiscard]] result<std::optional<detail::pending_redo>> find(layout::header& h,
                                                                   bool writable = true) const {
        return detail::pending_redo::find(file, h, writable);
    }
    [[nodiscard]] detail::pending_redo found() const {
        const auto h = header();
        auto redo = must(find(*h));
        EXPECT_TRUE(redo) << "there is no journal";
        return std::move(*redo);
    }

    journal::identity who{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 4};
    std::filesystem::path journal_file = dir / "store.hf.journal";

   private:
    struct two_disks {
        detail::file_handle files[2];
        std::unique_ptr<journal::posix_file> journal;
        std::unique_ptr<journal::posix_file> base;
    };
    [[nodiscard]] two_disks disks() const {
        two_disks d{
            {must(detail::open_file(journal_file, true)), must(detail::open_file(file, true))},
            {},
            {}};
        d.journal = std::make_unique<journal::posix_file>(d.files[0].get(), "journal");
        d.base = std::make_unique<journal::posix_file>(d.files[1].get(), "base");
        return d;
    }
};

}  // namespace hf::test
