// tests/campaigns/power/device_cache.hpp: the possible contents of a disk with a volatile cache
// after a power failure (docs/power_test.md).
//
// One run is recorded: every write and every flush that reached the virtual disk, and the length of
// that log at each promise to a client. From the log images are rebuilt, as they might have been at
// some moment (moments.hpp). Each image is mounted in the machine, checked, served and compared:
// everything promised at that length of the log must be there. The control rebuilds images of a
// disk that ignores flushes: writes before an earlier flush are missing, too. They must lose
// records.
#pragma once

#include "base/random.hpp"
#include "moments.hpp"
#include "station.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace hf::power_test {

struct cache_outcome {
    target where;
    u64 writes = 0;  ///< in the log
    u64 flushes = 0;
    u64 log_bytes = 0;
    u64 promises = 0;
    std::map<fate, u64> images;
    u64 left_out = 0;  ///< writes that images lacked, completely or in part
    verdict sum;
    u64 failures = 0;
    u64 control_images = 0;
    u64 control_lost = 0;
    u64 control_unopened = 0;

    [[nodiscard]] bool well(bool control_wanted) const noexcept {
        return sum.broken() + failures == 0 && (!control_wanted || control_lost > 0);
    }
    [[nodiscard]] nlohmann::json to_json() const;
};

class device_cache {
   public:
    device_cache(const campaign_options& options, const target& where, u64 images);

    [[nodiscard]] cache_outcome run();

   private:
    [[nodiscard]] result<void> record();
    [[nodiscard]] result<void> write_before();
    [[nodiscard]] result<void> try_images();
    [[nodiscard]] result<void> rebuild(const moment& one);
    [[nodiscard]] result<void> judge(const moment& one);
    void judge_lie(const moment& one);
    void complain(const error& why);

    std::filesystem::path log_file() const { return options_.directory / "write_log"; }
    std::filesystem::path synced_image() const { return options_.directory / "synced"; }

    campaign_options options_;
    u64 images_;
    xoshiro256ss random_;
    crowd crowd_;
    station station_;
    write_log log_;
    std::size_t synced_ = 0;  ///< entries that synced_image() contains
    cache_outcome out_;
};

}  // namespace hf::power_test
