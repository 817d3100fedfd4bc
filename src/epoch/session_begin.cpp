#include "epoch/session_begin.hpp"

#include "epoch/capture.hpp"
#include "epoch/epoch_area.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace hf {

result<session_begin> begin_of_session(const region& file) {
    auto record = layout::epoch_record_load(file.header().epoch);
    if (!record) {
        error e = record.error();
        e.where = file.path().string() + (e.where.empty() ? "" : " " + e.where);
        return failure(std::move(e));
    }
    const layout::superblock& super = file.super();
    const epoch_area area = epoch_area_of(super);
    const u64 newest = std::max<u64>(*record, area.first_epoch_of_session);
    if (std::max(newest, area.clean_epoch) > max_epoch) {
        return failure({errc::corrupt, "read the region's epochs", file.path().string(),
                        "epoch " + std::to_string(std::max(newest, area.clean_epoch)) +
                            " is later than any program can have reached",
                        "restore the file from a backup"});
    }
    if (file.was_clean()) return session_begin{newest, std::nullopt};
    if (layout::is_journalled(super)) {
        return session_begin{newest + capture::most_under_way() + 1, std::nullopt};
    }
    return session_begin{newest + 1, newest};
}

}  // namespace hf
