// Fuzzes maps with regions that another program has modified (tests/campaigns/damage/trial.hpp).
//
// The first byte of the input selects a region: closed or crashed, checkpointed, with or without
// inlined values, or with one of the eager indexes; the rest is a program of edits, eight bytes
// each: a place, a kind and a value.
#include <holdfast/eager.hpp>

#include "base/checksum.hpp"
#include "base/random.hpp"
#include "damage/edits.hpp"
#include "damage/trial.hpp"
#include "damage/victim.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace hf::damage_test;  // NOLINT(google-build-using-namespace): this file is about it
using hf::u64;

image_file& scratch_region() {
    static image_file file = [] {
        const char* parent = std::getenv("HF_TEST_DIR");
        std::string directory =
            std::string(parent != nullptr ? parent : "/dev/shm") + "/holdfast-fuzz-XXXXXX";
        require(::mkdtemp(directory.data()) != nullptr, "no scratch directory");
        static std::string made = directory;
        std::atexit([] { fs::remove_all(made); });
        return image_file(fs::path(directory) / "store.hf");
    }();
    return file;
}

edit read_edit(const std::uint8_t* at) {
    const u64 place = at[0] | u64{at[1]} << 8 | u64{at[2]} << 16;
    std::uint32_t value = 0;
    std::memcpy(&value, at + 4, sizeof value);
    const auto kind = static_cast<edit_kind>(at[3] % edit_kinds);
    // Most files keep their length.
    return {place, kind == edit_kind::end && value % 16 != 0 ? edit_kind::bit : kind, value};
}

/// Two of three are checkpointed, one of these with inlined values.
std::vector<victim> make_all() {
    std::vector<victim> all;
    const auto& indexes = hf::eager_index_names();
    for (u64 i = 0; i < indexes.size(); ++i) {
        for (const bool crashes : {false, true}) {
            recipe how{.seed = 7 + 2 * i + (crashes ? 1 : 0),
                       .crashes = crashes,
                       .names = 500,
                       .steps = 1000};
            all.push_back(make_victim(scratch_region(), how));
            how.inlined = true;
            all.push_back(make_victim(scratch_region(), how));
            how.inlined = false;
            how.index = indexes[i];
            all.push_back(make_victim(scratch_region(), how));
        }
    }
    return all;
}

struct tally {
    u64 inputs = 0;
    u64 refused = 0;
    u64 noticed = 0;  ///< detected by check()
    u64 errors = 0;   ///< of operations
    u64 operations = 0;
    void add(const seen& s) {
        ++inputs;
        refused += s.refused ? 1 : 0;
        noticed += s.sound ? 0 : 1;
        errors += s.errors;
        operations += s.operations;
    }
    ~tally() {
        const auto print = [](u64 n, const char* what) {
            std::fprintf(stderr, "%llu %s", static_cast<unsigned long long>(n), what);
        };
        print(inputs, "inputs, ");
        print(refused, "regions refused, ");
        print(noticed, "found damaged by the check, ");
        print(operations, "operations, ");
        print(errors, "of them errors, 0 wrong\n");
    }
};
tally all_seen;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<victim> victims = make_all();
    if (size == 0) return 0;
    const victim& v = victims[data[0] % victims.size()];
    // Short inputs are programs, too: the missing bytes of the last edit are derived from the
    // others.
    std::vector<std::uint8_t> program(data + 1, data + std::min<std::size_t>(size, 1 + 8 * 16));
    hf::xoshiro256ss rest(hf::checksum64(data, size));
    while (program.size() % 8 != 0) program.push_back(static_cast<std::uint8_t>(rest()));
    std::vector<edit> edits;
    for (std::size_t at = 0; at < program.size(); at += 8) {
        edits.push_back(read_edit(program.data() + at));
    }
    scratch_region().write(v, edits);
    try {
        all_seen.add(try_out(scratch_region().path(), v, hf::checksum64(data, size)));
    } catch (const wrong& why) {
        std::fprintf(stderr, "region_operations: %s\n", why.what());
        std::abort();
    }
    return 0;
}
