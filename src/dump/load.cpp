#include <holdfast/store.hpp>

#include "dump/dump.hpp"
#include "image/partial.hpp"
#include "store/store_record.hpp"
#include "store/store_unique.hpp"

#include <algorithm>

namespace hf {
namespace {

using detail::dump_line;
using detail::unique_numbers;

constexpr u64 block_of(u64 unique) { return unique >> unique_numbers::block_bits; }

/// Openings that a region must have left; a store takes a block of uniques at each.
constexpr u64 least_blocks_left = unique_numbers::block_count / 2;

error too_high(const dump_line& line) {
    return {errc::incompatible, "load the dump", "cas unique " + std::to_string(line.cas),
            "a store that must give out greater ones would run out of them",
            "load it with --new-cas, which gives every record another"};
}

/// Stores lines in a map in the store's format.
class loader {
   public:
    loader(map& to, bool new_uniques) : to_(to), new_uniques_(new_uniques) {
        next_ = to.generation() << unique_numbers::block_bits;
    }

    result<void> put(const dump_line& line) {
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

    /// Writes the store's own record, unless an empty key has a value of its own: the next
    /// session's block of uniques is above all that were loaded.
    result<void> finish(u64 flush_at) {
        const u64 mine = to_.generation();
        const u64 taken = block_of(greatest_);
        const detail::master_record master{0, flush_at, taken - std::min(taken, mine),
                                           short_headers_};
        const bool says_something =
            master.flush_at != 0 || master.spent_blocks != 0 || master.short_headers;
        if (has_empty_key_ || !says_something) return {};
        char bytes[detail::master_record_bytes];
        detail::encode(master, bytes);
        const auto done = to_.put({}, {bytes, sizeof bytes});
        return done ? result<void>{} : failure(done.error());
    }

   private:
    /// Encodes a short header only if the store's own record will be written to declare it. The
    /// empty key comes first.
    void encode(const detail::record_header& header, std::string_view data) {
        if (has_empty_key_) {
            record_ = detail::encode_version_1(header, data);
            return;
        }
        record_.assign(detail::encode(header).view());
        record_.append(data);
        short_headers_ = true;
    }

    map& to_;
    bool new_uniques_;
    bool has_empty_key_ = false;
    bool short_headers_ = false;
    u64 next_ = 0;
    u64 greatest_ = 0;
    std::string record_;
};

result<detail::dump_totals> each_line(detail::dump_reader& from, const transfer_progress& progress,
                                      const std::function<result<void>(const dump_line&)>& use) {
    for (dump_line line;;) {
        const auto more = from.next(line);
        if (!more) return tl::unexpected(more.error());
        if (!*more) return from.totals();
        if (auto ok = use(line); !ok) return tl::unexpected(ok.error());
        if (progress) progress(from.totals().bytes, 0);
    }
}

}  // namespace

result<detail::dump_totals> verify_dump(detail::dump_reader& from,
                                        const transfer_progress& progress) {
    return each_line(from, progress, [](const dump_line&) { return result<void>{}; });
}

result<detail::dump_totals> load_new(const std::filesystem::path& region, detail::dump_reader& from,
                                     const load_options& options,
                                     const transfer_progress& progress) {
    auto place = detail::partial_region::prepare(region, options.replace);
    if (!place) return tl::unexpected(place.error());
    map_options fresh;
    fresh.region.mode = open_mode::create_new;
    fresh.kind = options.kind;
    fresh.index = options.index;
    fresh.small_values_in_leaves = options.small_values_in_leaves;
    auto m = map::open(place->path(), fresh);
    if (!m) return tl::unexpected(m.error());
    loader to(*m, options.new_uniques);
    auto done = each_line(from, progress, [&](const dump_line& line) { return to.put(line); });
    if (!done) return done;
    if (auto ok = to.finish(from.flush_at()); !ok) return tl::unexpected(ok.error());
    if (auto ok = m->close(); !ok) return tl::unexpected(ok.error());
    if (auto ok = place->finish(); !ok) return tl::unexpected(ok.error());
    return done;
}

result<detail::dump_totals> load_into(const std::filesystem::path& region,
                                      detail::dump_reader& from,
                                      const transfer_progress& progress) {
    map_options there;
    there.region.mode = open_mode::open_existing;
    auto s = store::open(region, {there, {}});
    if (!s) return tl::unexpected(s.error());
    auto done = each_line(from, progress, [&](const dump_line& line) -> result<void> {
        if (!line.is_record) {
            return failure({errc::incompatible, "load the dump into a region that is there",
                            region.string(), "it holds values that are no records of a store",
                            "load it into a new region"});
        }
        const auto put = s->set(line.key, line.data, {line.flags, line.expires});
        return put ? result<void>{} : failure(put.error());
    });
    if (!done) return done;
    if (auto ok = s->close(); !ok) return tl::unexpected(ok.error());
    return done;
}

}  // namespace hf
