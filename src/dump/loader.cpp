#include "dump/loader.hpp"

#include "store/store_unique.hpp"

#include <algorithm>

namespace hf::detail {
namespace {

constexpr u64 block_of(u64 unique) { return unique >> unique_numbers::block_bits; }

/// Openings that a region must have left; a store takes a block of uniques at each.
constexpr u64 least_blocks_left = unique_numbers::block_count / 2;

error too_high(const dump_line& line) {
    return {errc::incompatible, "load the dump", "cas unique " + std::to_string(line.cas),
            "a store that must give out greater ones would run out of them",
            "load it with --new-cas, which gives every record another"};
}

}  // namespace

loader::loader(map& to, bool new_uniques) : to_(to), new_uniques_(new_uniques) {
    next_ = to.generation() << unique_numbers::block_bits;
}

result<void> loader::put(const dump_line& line) {
    std::string_view bytes = line.data;
    if (line.is_record) {
        const u64 unique = new_uniques_ ? next_++ : line.cas;
        if (block_of(unique) >= least_blocks_left) return failure(too_high(line));
        greatest_ = std::max(greatest_, unique);
        encode({line.flags, line.expires, unique}, line.data);
        bytes = record_;
    }
    has_empty_key_ = has_empty_key_ || line.key.empty();
    const auto done = to_.put(line.key, bytes);
    return done ? result<void>{} : failure(done.error());
}

result<void> loader::finish(u64 flush_at) {
    const u64 mine = to_.generation();
    const u64 taken = std::max(block_of(greatest_), spent_);
    const master_record master{0, flush_at, taken - std::min(taken, mine), short_headers_};
    const bool says_something =
        master.flush_at != 0 || master.spent_blocks != 0 || master.short_headers;
    if (has_empty_key_ || !says_something) return {};
    char bytes[master_record_bytes];
    hf::detail::encode(master, bytes);
    const auto done = to_.put({}, {bytes, sizeof bytes});
    return done ? result<void>{} : failure(done.error());
}

/// Encodes a short header only if the store's own record will be written to declare it.
void loader::encode(const record_header& header, std::string_view data) {
    if (has_empty_key_) {
        record_ = encode_version_1(header, data);
        return;
    }
    record_.assign(hf::detail::encode(header).view());
    record_.append(data);
    short_headers_ = true;
}

}  // namespace hf::detail
