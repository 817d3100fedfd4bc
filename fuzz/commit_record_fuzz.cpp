// Fuzzes recovery of a region of transactions with commit records that another program has
// modified.
//
// A region whose process ended within an epoch is made once, and kept in memory. Each input is a
// program of edits of its log, eight bytes each: a place, a kind and a value; an edit may also
// correct the checksum of the record, so that the code after its check is reached. Then the records
// are applied as by open(): that must end, and either be refused without a change, or change
// nothing outside of the region.
#include "base/checksum.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using hf::u64;

void require(bool condition) {
    if (!condition) std::abort();
}

constexpr u64 log_pages = 1;

/// A region in memory with one log, and some records of epoch 1 in it.
struct fuzz_victim {
    std::unique_ptr<hf::region> file;
    hf::segment log{};
    std::vector<std::byte> before;

    fuzz_victim() {
        hf::region_options o;
        o.kind = hf::discipline::transaction;
        o.max_size = u64{16} << 20;
        file = std::move(*hf::region::create_volatile(u64{1} << 20, o));
        log = *file->grow(hf::segment_kind::log, log_pages, 1);
        hf::committed_heap heap(*file);
        require(heap.open().has_value());
        hf::heap_batch blocks(heap);
        const u64 words = *blocks.reserve(4'096);
        static_cast<void>(blocks.changes());
        blocks.apply();
        blocks.settle();
        hf::commit_log to;
        to.attach(*file, 1);
        for (u64 i = 0; i < 6; ++i) {
            hf::written_line line(reinterpret_cast<u64>(file->base() + words) / 64 + i);
            line.mask = static_cast<hf::u8>(1 + i);
            line.words = {};
            const hf::committed::word_change change{log.offset, 0, 0};
            const auto kind = i % 2 == 0 ? hf::record_kind::redo : hf::record_kind::undo;
            const hf::record_body body{kind, {&line, 1}, {}, {&change, i == 5 ? 1U : 0U}};
            require(to.make_room(hf::record_bytes(body), 1).has_value());
            to.lay(1, 10 + i, body);
        }
        before.assign(file->base(), file->base() + file->size());
    }
    void restore() const { std::memcpy(file->base(), before.data(), before.size()); }
};

void mend_checksum(const fuzz_victim& v, u64 at) {
    auto* h = v.file->at<hf::record_header>(at);
    const u64 room = v.log.offset + v.log.bytes() - at - sizeof *h;
    const u64 body = std::min(8 * u64{h->words}, room);
    h->checksum = hf::checksum64(reinterpret_cast<const std::byte*>(h) + 8, sizeof *h - 8 + body,
                                 hf::record_seed(*v.file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fuzz_victim v;
    v.restore();
    for (std::size_t i = 0; i + 8 <= size && i < 64 * 8; i += 8) {
        hf::u16 place = 0;
        hf::u32 value = 0;
        std::memcpy(&place, data + i, 2);
        std::memcpy(&value, data + i + 4, 4);
        // The records are in the first lines.
        const u64 at = v.log.offset + place % 1'024 / 4 * 4;
        std::memcpy(v.file->base() + at, &value, 4);
        if ((data[i + 3] & 1) != 0) mend_checksum(v, at / 64 * 64);
    }
    const std::vector<std::byte> damaged(v.file->base(), v.file->base() + v.file->size());
    const auto applied = hf::apply_records(*v.file, 1);
    if (!applied) {
        require(std::memcmp(v.file->base(), damaged.data(), damaged.size()) == 0);
    }
    return 0;
}
