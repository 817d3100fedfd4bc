// Feeds the map with regions in which somebody else wrote.
//
// Two regions are made once: one that was closed, and one whose process died in the middle of an
// epoch. Both have seen keys of all kinds come, change and go. The first byte of the input chooses
// one, the rest is a program of edits, eight bytes each: a place, a kind and a value; flipped bits,
// other words, lines and pages that are zero, older or another's, a file that ends too early. Then
// the public map is opened on it and used: gets, scans, writes, another opening.
//
// Whatever was edited: no crash, no hang, and no answer that is wrong. Wrong is another value than
// the last one, and a key that was removed. An error is right, if something is damaged; a key that
// is not found is, if the check says that something is damaged: reads can't notice that.
#include <holdfast/map.hpp>

#include "base/checksum.hpp"
#include "base/random.hpp"
#include "map/inspect.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using hf::u64;
using model = std::map<std::string, std::string>;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "region_operations: %s\n", why.c_str());
    std::abort();
}
void require(bool condition, const char* what) {
    if (!condition) fail(what);
}

// ------------------------------------------------------------------------------------ the regions

constexpr u64 page = 4096;
constexpr u64 large_page = 65536;

struct victim {
    std::string image;
    u64 used = 0;                ///< what lies behind is zero
    model content;               ///< as an opening finds it, undamaged
    std::set<std::string> gone;  ///< keys that were there once
};

fs::path scratch_file() {
    static const fs::path file = [] {
        const char* parent = std::getenv("HF_TEST_DIR");
        std::string directory =
            std::string(parent != nullptr ? parent : "/dev/shm") + "/holdfast-fuzz-XXXXXX";
        require(::mkdtemp(directory.data()) != nullptr, "no scratch directory");
        static std::string made = directory;
        std::atexit([] { fs::remove_all(made); });
        return fs::path(directory) / "store.hf";
    }();
    return file;
}

hf::map_options by_hand() {
    hf::map_options o;
    o.epoch = std::chrono::microseconds(0);
    o.region.initial_size = u64{2} << 20;
    o.region.max_size = u64{16} << 20;
    o.hint_memory = u64{1} << 16;
    return o;
}

std::string read_file(const fs::path& file) {
    std::string bytes(fs::file_size(file), '\0');
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    require(fd >= 0, "can't read the region");
    require(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "can't read the region");
    ::close(fd);
    return bytes;
}

void write_file(const fs::path& file, const std::string& bytes, u64 used) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0, "can't write the region");
    const u64 n = std::min<u64>(used, bytes.size());
    require(::pwrite(fd, bytes.data(), n, 0) == static_cast<ssize_t>(n), "can't write the region");
    require(::ftruncate(fd, static_cast<off_t>(bytes.size())) == 0, "can't size the region");
    ::close(fd);
}

/// Short, of eight bytes, with common slices, long.
std::string key_of(u64 n) {
    const std::string digits = std::to_string(n);
    switch (n % 4) {
        case 0:
            return digits;
        case 1:
            return std::string(8 - std::min<std::size_t>(digits.size(), 8), 'k') + digits;
        case 2:
            return "shared__" + digits;
        default:
            return "shared__shared__shared__" + std::string(n % 23, 'x') + digits;
    }
}

std::string value_of(hf::xoshiro256ss& r) {
    static constexpr u64 sizes[] = {0, 8, 40, 200, 900};
    u64 size = r.below(sizes[r.below(5)] + 1);
    if (r.below(200) == 0) size = 70'000 + r.below(1000);
    std::string v(size, '\0');
    for (char& c : v) c = static_cast<char>(r());
    return v;
}

/// Everything that a scan finds.
model content_of(const hf::map& m) {
    model all;
    auto done = m.scan("", [&](std::string_view key, std::string_view value) {
        all.emplace(key, value);
        return true;
    });
    require(done.has_value(), "a scan of an undamaged region");
    return all;
}

void live(hf::map& m, victim& v, hf::xoshiro256ss& r, unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
        const std::string key = key_of(r.below(500));
        v.gone.insert(key);
        if (r.below(3) != 0) {
            require(m.put(key, value_of(r)).has_value(), "a put");
        } else {
            require(m.remove(key).has_value(), "a removal");
        }
        if (i % 300 == 299) require(m.sync().has_value(), "an epoch's end");
    }
}

victim make_victim(bool crashes) {
    victim v;
    hf::xoshiro256ss r(crashes ? 8 : 7);
    const fs::path file = scratch_file();
    fs::remove(file);
    for (int life = 0; life < 3; ++life) {
        auto m = hf::map::open(file, by_hand());
        require(m.has_value(), "an opening");
        live(*m, v, r, 1000);
        if (life == 2 && crashes) v.image = read_file(file);  // as a SIGKILL leaves it
        require(m->close().has_value(), "a close");
    }
    if (!crashes) v.image = read_file(file);
    v.used = v.image.size();
    while (v.used > 0 && v.image[v.used - 1] == '\0') --v.used;
    v.used = std::min<u64>((v.used + page - 1) / page * page, v.image.size());
    write_file(file, v.image, v.used);
    auto m = hf::map::open(file, by_hand());
    require(m.has_value(), "an opening of an undamaged region");
    v.content = content_of(*m);
    for (const auto& [key, value] : v.content) v.gone.erase(key);
    require(v.content.size() > 200 && v.gone.size() > 50, "too little came and went");
    return v;
}

// -------------------------------------------------------------------------------------- the edits

struct edit {
    u64 place;
    unsigned kind;
    std::uint32_t value;
};

edit read_edit(const std::uint8_t* at) {
    const u64 place = at[0] | u64{at[1]} << 8 | u64{at[2]} << 16;
    std::uint32_t value = 0;
    std::memcpy(&value, at + 4, sizeof value);
    return {place, at[3], value};
}

void swap_blocks(std::string& image, u64 a, u64 b, u64 size) {
    if (std::max(a, b) + size > image.size() || a == b) return;
    std::swap_ranges(image.begin() + static_cast<std::ptrdiff_t>(a),
                     image.begin() + static_cast<std::ptrdiff_t>(a + size),
                     image.begin() + static_cast<std::ptrdiff_t>(b));
}

void copy_block(std::string& image, u64 to, u64 from, u64 size) {
    if (std::max(to, from) + size > image.size()) return;
    const std::string moved = image.substr(from, size);
    image.replace(to, size, moved);
}

/// `used` bytes count; a file that ends too early becomes shorter.
void apply(const edit& e, std::string& image, u64 used) {
    const u64 at = e.place % used;
    if (at >= image.size()) return;
    const u64 other = e.value % used;
    const auto down = [](u64 offset, u64 size) { return offset - offset % size; };
    switch (e.kind % 10) {
        case 0:
        case 1:
            image[at] = static_cast<char>(image[at] ^ 1 << e.value % 8);
            break;
        case 2:
            image[at] = static_cast<char>(e.value);
            break;
        case 3: {  // a word: any, or one that is near
            u64 word = 0;
            const u64 where = down(at, 8);
            if (where + 8 > image.size()) break;
            std::memcpy(&word, image.data() + where, sizeof word);
            word =
                e.value % 2 == 0 ? word + (e.value >> 1) % 4096 * 16 : e.value * 0x9e3779b97f4a7c15;
            std::memcpy(image.data() + where, &word, sizeof word);
            break;
        }
        case 4:
            image.replace(down(at, 64), std::min<u64>(64, image.size() - down(at, 64)),
                          std::min<u64>(64, image.size() - down(at, 64)), '\0');
            break;
        case 5:
            copy_block(image, down(at, 64), down(other, 64), 64);
            break;
        case 6:
            copy_block(image, down(at, page), image.size() - page, page);  // zeros
            break;
        case 7:
            swap_blocks(image, down(at, page), down(other, page), page);
            break;
        case 8:
            swap_blocks(image, down(at, large_page), down(other, large_page), large_page);
            break;
        default:
            if (e.value % 16 == 0) image.resize(at);
            break;
    }
}

// ---------------------------------------------------------------------------------------- the use

/// What may be found under each key.
class expectation {
   public:
    expectation(const victim& v, bool damage_is_known)
        : content_(v.content), gone_(v.gone), damage_is_known_(damage_is_known) {}

    void found(const std::string& key, std::string_view value) const {
        const auto it = content_.find(key);
        if (it == content_.end()) fail("the key '" + key + "' is there, and should not be");
        if (it->second != value) fail("the key '" + key + "' has a wrong value");
    }
    void missing(const std::string& key) const {
        if (content_.contains(key) && !damage_is_known_) {
            fail("the key '" + key + "' is missing, and the check says that all is well");
        }
    }
    void failed(const hf::error& why) const {
        require(!why.to_string().empty(), "an error without a text");
        if (!damage_is_known_) fail("the check says that all is well, but: " + why.to_string());
    }
    // A write that fails changes nothing.
    void stored(const std::string& key, std::string value) { content_[key] = std::move(value); }
    void removed(const std::string& key) { content_.erase(key); }
    [[nodiscard]] std::vector<std::string> keys() const {
        std::vector<std::string> all(gone_.begin(), gone_.end());
        for (const auto& [key, value] : content_) all.push_back(key);
        return all;
    }

   private:
    model content_;
    std::set<std::string> gone_;
    bool damage_is_known_;
};

struct tally {
    u64 inputs = 0;
    u64 refused = 0;
    u64 noticed = 0;  ///< by the check, where the map opened
    u64 errors = 0;   ///< of operations
    u64 operations = 0;
    ~tally() {
        std::fprintf(
            stderr,
            "region_operations: %llu inputs, %llu regions refused, %llu found damaged by "
            "the check, %llu operations, %llu of them errors, 0 wrong\n",
            static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(refused),
            static_cast<unsigned long long>(noticed), static_cast<unsigned long long>(operations),
            static_cast<unsigned long long>(errors));
    }
};
tally seen;

template <class T>
bool happened(const tl::expected<T, hf::error>& r, const expectation& e) {
    ++seen.operations;
    if (r) return true;
    ++seen.errors;
    e.failed(r.error());
    return false;
}

void read_all(const hf::map& m, const expectation& e) {
    const auto keys = e.keys();
    std::string value;
    for (const std::string& key : keys) {
        const auto got = m.get(key, value);
        if (!happened(got, e)) continue;
        *got ? e.found(key, value) : e.missing(key);
    }
    std::vector<std::string_view> views(keys.begin(), keys.end());
    for (std::size_t at = 0; at < views.size(); at += 16) {
        const auto some =
            std::span(views).subspan(at, std::min<std::size_t>(16, views.size() - at));
        (void)happened(
            m.get_many(
                some, [&](std::size_t n, std::string_view v) { e.found(std::string(some[n]), v); }),
            e);
    }
    const auto visit = [&](std::string_view key, std::string_view v) {
        e.found(std::string(key), v);
        return true;
    };
    for (const char* from : {"", "4", "shared__", "shared__shared__shared__"}) {
        (void)happened(m.scan(from, visit), e);
        (void)happened(m.scan_backward(from, visit), e);
    }
    (void)happened(m.scan_backward(std::nullopt, visit), e);
}

void write_some(hf::map& m, expectation& e, hf::xoshiro256ss& r) {
    for (unsigned i = 0; i < 150; ++i) {
        const std::string key = key_of(r.below(600));
        std::string value = value_of(r);
        switch (r.below(4)) {
            case 0: {
                const auto done = m.remove(key);
                if (happened(done, e) && done->existed) e.removed(key);
                break;
            }
            case 1: {
                const auto done = m.modify(key, [&](auto old, std::string& fresh) {
                    if (old) e.found(key, *old);
                    value.resize(std::min<std::size_t>(value.size(), 1000));  // it takes small ones
                    fresh = value;
                    return hf::map::edit::replace;
                });
                if (happened(done, e) && done->changed) e.stored(key, value);
                break;
            }
            default:
                if (happened(m.put(key, value), e)) e.stored(key, value);
                break;
        }
        if (i % 50 == 49) (void)happened(m.sync(), e);
    }
}

bool is_sound(const fs::path& file) {
    const auto looked = hf::inspect_map(file);
    return looked.is_open() && !looked.refusal() && looked.audit().ok();
}

void use(const fs::path& file, const victim& v, u64 seed) {
    const bool sound = is_sound(file);
    seen.noticed += sound ? 0 : 1;
    expectation e(v, !sound);
    hf::xoshiro256ss r(seed);
    for (int life = 0; life < 2; ++life) {
        auto m = hf::map::open(file, by_hand());
        if (!m) {
            ++seen.refused;
            e.failed(m.error());
            return;
        }
        read_all(*m, e);
        if (life == 0) write_some(*m, e, r);
        if (life == 0) read_all(*m, e);
        (void)m->close();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const victim victims[] = {make_victim(false), make_victim(true)};
    if (size == 0) return 0;
    ++seen.inputs;
    const victim& v = victims[data[0] % 2];
    // Short inputs are programs, too: what lacks of their last edit is drawn by what there is.
    std::vector<std::uint8_t> program(data + 1, data + std::min<std::size_t>(size, 1 + 8 * 16));
    hf::xoshiro256ss rest(hf::checksum64(data, size));
    while (program.size() % 8 != 0) program.push_back(static_cast<std::uint8_t>(rest()));
    std::string image = v.image;
    for (std::size_t at = 0; at < program.size(); at += 8) {
        apply(read_edit(program.data() + at), image, v.used);
    }
    write_file(scratch_file(), image, std::min<u64>(v.used, image.size()));
    use(scratch_file(), v, size + data[0]);
    return 0;
}
