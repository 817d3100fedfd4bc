#include "device_cache.hpp"

#include "tools/machine/disk_image.hpp"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>

namespace hf::power_test {

namespace {

namespace fs = std::filesystem;

constexpr auto time_before = std::chrono::milliseconds(400);
constexpr auto time_recorded = std::chrono::milliseconds(2000);
constexpr u64 cached_sector = 512;

}  // namespace

device_cache::device_cache(const campaign_options& options, const target& where, u64 images)
    : options_(options),
      images_(images),
      random_(options.seed ^ where.file_system.size()),
      crowd_(random_(), options.connections),
      station_(options, where) {
    out_.where = where;
}

cache_outcome device_cache::run() {
    auto well = record();
    if (well) well = try_images();
    if (!well) complain(well.error());
    station_.power_off();
    return out_;
}

/// Makes a region with records that still needs recovery from a power failure.
result<void> device_cache::write_before() {
    if (auto made = station_.make_medium(); !made) return made;
    if (auto on = station_.power_on(station_.disk()); !on) return on;
    if (auto served = station_.serve(acknowledgement::durable, true); !served) return served;
    crowd_.begin(station_.machine().port(), acknowledgement::durable);
    if (crowd_.await_answers(1)) std::this_thread::sleep_for(time_before);
    station_.machine().cut_power();
    crowd_.end();
    if (auto on = station_.power_on(station_.disk()); !on) return on;
    if (auto served = station_.serve(acknowledgement::durable, true); !served) return served;
    const auto seen = crowd_.compare(station_.machine().port(), true);
    if (!seen) return tl::unexpected(seen.error());
    out_.sum += *seen;
    station_.power_off();
    return machine::copy_disk(station_.disk(), synced_image());
}

result<void> device_cache::record() {
    if (auto written = write_before(); !written) return written;
    if (auto on = station_.power_on(station_.disk(), log_file()); !on) return on;
    if (auto served = station_.serve(acknowledgement::durable, true); !served) return served;
    // Writes that a client was promised are in the log by then, within this length.
    crowd_.begin(station_.machine().port(), acknowledgement::durable, [file = log_file()] {
        std::error_code ignored;
        return static_cast<u64>(fs::file_size(file, ignored));
    });
    if (crowd_.await_answers(1)) std::this_thread::sleep_for(time_recorded);
    // All requests of the disk are completed, and the log is complete.
    auto stopped = station_.machine().stop();
    station_.machine().cut_power();
    crowd_.end();
    if (!stopped) return stopped;
    std::error_code wrong;
    out_.log_bytes = fs::file_size(log_file(), wrong);
    auto log = read_write_log(log_file(), fs::file_size(station_.disk(), wrong));
    if (!log) return tl::unexpected(log.error());
    log_ = std::move(*log);
    for (const log_entry& one : log_.entries) {
        ++(one.is == log_entry::kind::flush ? out_.flushes : out_.writes);
    }
    out_.promises = crowd_.promise_count();
    std::printf("  %s: recorded %llu writes, %llu flushes, %llu promises\n",
                out_.where.name().c_str(), static_cast<unsigned long long>(out_.writes),
                static_cast<unsigned long long>(out_.flushes),
                static_cast<unsigned long long>(out_.promises));
    (void)std::fflush(stdout);
    if (out_.flushes != 0 && out_.promises != 0) return {};
    return failure({errc::violation, "record a run", log_file().string(),
                    "it has no flush, or nothing was promised", "give it more time"});
}

/// Writes the image to another_disk().
result<void> device_cache::rebuild(const moment& one) {
    for (; synced_ < one.synced; ++synced_) {
        const log_entry& entry = log_.entries[synced_];
        if (auto ok = apply(log_file(), entry, synced_image()); !ok) return ok;
    }
    const auto disk = station_.another_disk();
    if (auto copied = machine::copy_disk(synced_image(), disk); !copied) return copied;
    const std::size_t late = one.synced + random_.below(one.cut - one.synced + 1);
    for (std::size_t i = one.synced; i < one.cut; ++i) {
        const log_entry& entry = log_.entries[i];
        if (entry.is == log_entry::kind::flush) continue;
        u64 first = 0;
        u64 last = entry.length / cached_sector;
        const bool kept = one.of == fate::whole || entry.through ||
                          (one.of == fate::dropped && random_.below(2) == 0) ||
                          (one.of == fate::late && i >= late) ||
                          (one.of == fate::torn && random_.below(4) != 0);
        if (kept && one.of == fate::torn && !entry.through) {
            first = random_.below(last);
            last = first + random_.below(last - first) + 1;
        }
        const bool complete = kept && last - first == entry.length / cached_sector;
        if (!complete) ++out_.left_out;
        if (!kept) continue;
        if (auto ok = apply(log_file(), entry, disk, first, last); !ok) return ok;
    }
    return {};
}

result<void> device_cache::try_images() {
    const u64 lies = options_.control_cycles == 0 ? 0 : 2;
    for (const moment& one : choose_moments(log_, images_, lies, random_)) {
        if (interrupted()) return {};
        if (auto made = rebuild(one); !made) return made;
        if (one.of == fate::lies) {
            judge_lie(one);
        } else if (auto well = judge(one); !well) {
            return well;
        }
    }
    return {};
}

result<void> device_cache::judge(const moment& one) {
    if (auto on = station_.power_on(station_.another_disk()); !on) return on;
    if (auto sound = station_.check(); !sound) return sound;
    if (auto served = station_.serve(acknowledgement::durable, true); !served) return served;
    const u64 position = one.cut == 0 ? 0 : log_.entries[one.cut - 1].end;
    const auto seen = crowd_.compare_at(station_.machine().port(), position);
    if (!seen) return tl::unexpected(seen.error());
    out_.sum += *seen;
    ++out_.images[one.of];
    std::printf(
        "  %s: %-8s at entry %6zu (%4zu behind a flush): %llu promised, %llu compared, "
        "%llu lost\n",
        out_.where.name().c_str(), to_string(one.of), one.cut, one.cut - one.synced,
        static_cast<unsigned long long>(seen->durable),
        static_cast<unsigned long long>(seen->checked),
        static_cast<unsigned long long>(seen->broken()));
    (void)std::fflush(stdout);
    if (seen->broken() != 0) station_.keep_evidence();
    return {};
}

void device_cache::judge_lie(const moment& one) {
    ++out_.control_images;
    const u64 position = log_.entries[one.cut - 1].end;
    const bool open = station_.power_on(station_.another_disk()) &&
                      station_.serve(acknowledgement::durable, true);
    const auto seen = open ? crowd_.compare_at(station_.machine().port(), position)
                           : result<verdict>(failure({}));
    if (seen) {
        out_.control_lost += seen->broken();
    } else {
        ++out_.control_unopened;
        out_.control_lost += crowd_.durable_records_at(position);
    }
}

void device_cache::complain(const error& why) {
    ++out_.failures;
    std::printf("FAILED: %s: %s\n", out_.where.name().c_str(), why.to_string().c_str());
    station_.keep_evidence();
}

nlohmann::json cache_outcome::to_json() const {
    nlohmann::json of_fates;
    for (const auto& [of, number] : images) of_fates[to_string(of)] = number;
    return {{"file_system", where.file_system},
            {"writes", writes},
            {"flushes", flushes},
            {"log_bytes", log_bytes},
            {"promises", promises},
            {"images", of_fates},
            {"writes_left_out", left_out},
            {"records_compared", sum.checked},
            {"lost", sum.lost},
            {"holes", sum.holes},
            {"altered", sum.altered},
            {"strangers", sum.strangers},
            {"failures", failures},
            {"control",
             {{"images", control_images},
              {"records_lost", control_lost},
              {"regions_not_opened", control_unopened}}}};
}

}  // namespace hf::power_test
