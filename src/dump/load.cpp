#include <holdfast/store.hpp>

#include "dump/dump.hpp"
#include "dump/loader.hpp"
#include "image/partial.hpp"

namespace hf {
namespace {

using detail::dump_line;

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
    detail::loader to(*m, options.new_uniques);
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
