#include "map_engine/map_engine.hpp"

#include "persist/counters.hpp"

#include <algorithm>

namespace hf {

// The cursor is 'k' and the last key visited, because the empty key is valid, too.
result<std::size_t> map_engine::walk(std::string& cursor, std::size_t about,
                                     const map::visitor& visit) const {
    const bool begins = cursor.empty();
    const std::string from = begins ? "" : cursor.substr(1);
    std::size_t left = std::max<std::size_t>(about, 1);
    bool over = true;
    auto walked = scan(from, !begins, false, [&](std::string_view key, std::string_view value) {
        const bool goes_on = visit(key, value) && --left != 0;
        if (!goes_on) {
            over = false;
            cursor.assign("k").append(key);
        }
        return goes_on;
    });
    if (walked && over) cursor.clear();
    return walked;
}

result<audit_report> map_engine::audit() {
    return failure({errc::usage, "audit the open map", file().path().string(),
                    "only the file of such a map can be audited",
                    "close it, and run `holdfast check`"});
}

namespace map_detail {

error too_large(const char* what, std::size_t size, std::size_t most) {
    return {errc::too_large, what, "argument",
            std::to_string(size) + " bytes where " + std::to_string(most) + " are the most",
            "use a shorter one"};
}

error not_writable(const region& file) {
    return {errc::denied, "write to the map", file.path().string(), "it was opened for inspection",
            "open it for writing"};
}

statistics common_statistics(const map_engine& of) {
    statistics s;
    const region& file = of.file();
    s.epoch = of.current_epoch();
    s.durable_epoch = of.durable_epoch();
    s.generation = of.generation();
    s.recovered = !file.was_clean();
    const persist_counters counted = total_persist_counters();
    s.flushes = counted.flushes;
    s.fences = counted.fences;
    s.flushed_bytes = counted.flushed_bytes;
    s.region_bytes = file.size();
    s.most_bytes = file.max_pages() * layout::page_size;
    s.discipline = to_string(of.kind());
    s.index = of.index();
    s.medium = to_string(file.med().kind());
    s.image = to_string(file.med().is_atomic() ? image_kind::journalled : image_kind::shared);
    s.flush_instruction = to_string(file.med().instruction());
    s.fence_latency_ns = file.med().fence_latency_ns();
    s.path = file.path().string();
    return s;
}

}  // namespace map_detail
}  // namespace hf
