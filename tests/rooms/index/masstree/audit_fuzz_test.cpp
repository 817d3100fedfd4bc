// The audit of a region with arbitrary damage terminates, does not crash, and changes nothing.
#include "base/random.hpp"
#include "index/masstree/inspection.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace hf::test {
namespace {

constexpr inspection::root_name fuzzed_root{engine<incll_discipline>::root_name,
                                            engine<incll_discipline>::root_type};

void read_file(const std::string& path, std::string& into) {
    into.resize(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(into.data(), static_cast<std::streamsize>(into.size()));
}

void write_at(const std::string& path, u64 offset, std::string_view bytes) {
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good());
}

/// Makes a region with layers, splits, removed keys and extents; with `crash`, it ends in the
/// middle of an epoch.
template <class D>
void make_region(const std::string& path, bool crash) {
    engine_options options;
    options.epochs.epoch = std::chrono::microseconds(0);
    options.background_pass = false;
    options.file.initial_size = u64{16} << 20;
    for (int life = 0; life < 3; ++life) {
        test_engine<D> e(path, options);
        xoshiro256ss r(static_cast<u64>(life) + 7);
        for (int i = 0; i < 4000; ++i) {
            const u64 n = r.below(3000);
            const std::string key = n % 2 == 0 ? std::to_string(n) : "shared__" + std::to_string(n);
            r.below(3) != 0 ? (void)e.put(key, std::string(r.below(200), 'v'))
                            : (void)e.remove(key);
            if (i % 700 == 0) e.epochs().end_epoch();
        }
        if (!crash) must(e.machine().close());
    }
}

/// The bytes that one variant overwrites.
struct damage {
    u64 offset;
    std::string bytes;
};

/// An offset to damage, preferably where there is much structure.
u64 some_offset(xoshiro256ss& r, const std::string& image, u64 used) {
    switch (r.below(6)) {
        case 0:
            return r.below(layout::page_size);
        case 1:
            return layout::page_size + r.below(4096);  // segment header, descriptors
        case 2:
            return 2 * layout::page_size +
                   r.below(6 * accounted_classes * sizeof(class_lists));  // list heads
        default:
            break;
    }
    // A nonzero word in the used part.
    u64 at = align_down(r.below(used), 8);
    for (u64 tries = 0; tries < 4096; ++tries) {
        u64 word = 0;
        std::memcpy(&word, image.data() + at, sizeof word);
        if (word != 0) break;
        at = (at + 8) % used;
    }
    return at + r.below(8);
}

std::vector<damage> some_damage(xoshiro256ss& r, const std::string& image, u64 used) {
    std::vector<damage> all;
    const u64 count = 1 + r.below(8);
    for (u64 i = 0; i < count; ++i) {
        const u64 at = some_offset(r, image, used);
        switch (r.below(5)) {
            case 0: {  // one bit
                all.push_back({at, {static_cast<char>(image[at] ^ (1 << r.below(8)))}});
                break;
            }
            case 1: {  // a byte
                all.push_back({at, {static_cast<char>(r())}});
                break;
            }
            case 2: {  // a random word
                const u64 word = r();
                all.push_back(
                    {align_down(at, 8), {reinterpret_cast<const char*>(&word), sizeof word}});
                break;
            }
            case 3: {  // a line that was never written back
                all.push_back({align_down(at, 64), std::string(64, '\0')});
                break;
            }
            default: {  // a line from elsewhere
                const u64 other = align_down(some_offset(r, image, used), 64);
                all.push_back({align_down(at, 64), image.substr(other, 64)});
                break;
            }
        }
    }
    return all;
}

struct tally {
    unsigned refused = 0;
    unsigned found = 0;
    unsigned unnoticed = 0;
};

tally look_at_variants(const std::string& path, u64 seed, unsigned variants) {
    std::string image;
    read_file(path, image);
    std::string expected = image;
    std::string after;
    u64 used = image.size();
    while (used > layout::page_size && image[used - 1] == '\0') --used;
    tally seen;
    xoshiro256ss r(seed);
    for (unsigned i = 0; i < variants; ++i) {
        const auto wounds = some_damage(r, image, used);
        for (const damage& d : wounds) {
            write_at(path, d.offset, d.bytes);
            expected.replace(d.offset, d.bytes.size(), d.bytes);
        }
        const inspection looked = inspection::open(path, fuzzed_root);
        bool found = false;
        if (looked.is_open()) found = !looked.audit().ok();
        if (looked.refusal()) {
            ++seen.refused;
            EXPECT_NE(looked.refusal()->to_string(), "");
        } else {
            ++(found ? seen.found : seen.unnoticed);
        }
        read_file(path, after);
        EXPECT_TRUE(after == expected) << "variant " << i;
        for (const damage& d : wounds) {
            const std::string whole = image.substr(d.offset, d.bytes.size());
            write_at(path, d.offset, whole);
            expected.replace(d.offset, d.bytes.size(), whole);
        }
    }
    return seen;
}

TEST(audit_of_damaged_regions, clean_region_with_random_damage_neither_crashes_nor_changes) {
    scratch_file file;
    make_region<incll_discipline>(file.path(), false);
    const tally seen = look_at_variants(file.path(), 1, 200);
    // Damage to record contents and to free memory may go undetected, damage to structure must not.
    EXPECT_GT(seen.refused, 20U);
    EXPECT_GT(seen.found, 30U);
}

TEST(audit_of_damaged_regions, crashed_region_with_random_damage_neither_crashes_nor_changes) {
    scratch_file file;
    make_region<incll_discipline>(file.path(), true);
    const tally seen = look_at_variants(file.path(), 2, 200);
    EXPECT_GT(seen.refused, 20U);
    EXPECT_GT(seen.found, 30U);
}

TEST(audit_of_damaged_regions, crashed_region_of_logged_neither_crashes_nor_changes) {
    scratch_file file;
    make_region<logged_discipline>(file.path(), true);
    const tally seen = look_at_variants(file.path(), 3, 200);
    EXPECT_GT(seen.refused, 20U);
    EXPECT_GT(seen.found, 30U);
}

}  // namespace
}  // namespace hf::test
