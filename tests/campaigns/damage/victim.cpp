#include "damage/victim.hpp"

#include "map/inspect.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace hf::damage_test {

namespace fs = std::filesystem;

namespace {
constexpr u64 page_unit = 4096;
}  // namespace

map_options by_hand(const std::string& index, bool inlined) {
    map_options o;
    o.index = index;
    o.small_values_in_leaves = inlined;
    o.epoch = std::chrono::microseconds(0);
    o.region.initial_size = u64{2} << 20;
    o.region.max_size = most_region_bytes;
    o.hint_memory = u64{1} << 16;
    return o;
}

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

std::string value_of(xoshiro256ss& r) {
    static constexpr u64 sizes[] = {0, 8, 40, 200, 900};
    u64 size = r.below(sizes[r.below(5)] + 1);
    if (r.below(200) == 0) size = 70'000 + r.below(1000);
    std::string v(size, '\0');
    for (char& c : v) c = static_cast<char>(r());
    return v;
}

image_file::image_file(fs::path path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    require(fd_ >= 0, "can't make a region's file");
    void* const at = ::mmap(nullptr, most_region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    require(at != MAP_FAILED, "can't map a region's file");
    bytes_ = static_cast<char*>(at);
}

image_file::~image_file() {
    ::munmap(bytes_, most_region_bytes);
    ::close(fd_);
    std::error_code ignored;
    if (!keeps_) fs::remove(path_, ignored);
}

void image_file::write(const victim& v, std::span<const edit> edits) {
    const auto resize = [&](u64 size) {
        require(::ftruncate(fd_, static_cast<off_t>(size)) == 0, "can't size a region's file");
    };
    image_view view{bytes_, v.image.size()};
    require(view.size <= most_region_bytes, "a region is too large");
    resize(0);  // frees the pages: all are zero then
    resize(view.size);
    for (const u64 at : v.pages) {
        std::memcpy(bytes_ + at, v.image.data() + at, std::min(page_unit, view.size - at));
    }
    for (const edit& e : edits) apply(e, view, v.used);
    if (view.size != v.image.size()) resize(view.size);
}

namespace {}  // namespace

std::string read_image(const fs::path& file) {
    std::string bytes(fs::file_size(file), '\0');
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    require(fd >= 0, "can't read the region");
    const bool all =
        ::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    ::close(fd);
    require(all, "can't read the region");
    return bytes;
}

void find_pages(victim& v) {
    static constexpr char zeros[page_unit] = {};
    for (u64 at = 0; at < v.image.size(); at += page_unit) {
        const u64 some = std::min<u64>(page_unit, v.image.size() - at);
        if (std::memcmp(v.image.data() + at, zeros, some) != 0) v.pages.push_back(at);
    }
    v.used = std::min<u64>(v.pages.back() + page_unit, v.image.size());
}

namespace {

/// The results of a scan.
model content_of(const map& m) {
    model all;
    std::string cursor;
    do {
        auto done = m.walk(cursor, 1000, [&](std::string_view key, std::string_view value) {
            all.emplace(key, value);
            return true;
        });
        require(done.has_value(), "a walk over an undamaged region");
    } while (!cursor.empty());
    return all;
}

void live(map& m, victim& v, xoshiro256ss& r, unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
        const std::string key = key_of(r.below(v.names));
        v.gone.insert(key);
        if (r.below(3) != 0) {
            require(m.put(key, value_of(r)).has_value(), "a put");
        } else {
            require(m.remove(key).has_value(), "a removal");
        }
        if (i % 300 == 299) require(m.sync().has_value(), "an epoch's end");
    }
}

}  // namespace

victim make_victim(image_file& file, const recipe& how) {
    constexpr int lives = 3;
    victim v;
    v.names = how.names;
    v.index = how.index;
    xoshiro256ss r(how.seed);
    const fs::path made =
        file.path().string() + ".new";  // a region is never created in an existing file
    for (int life = 1; life <= lives; ++life) {
        auto m = map::open(made, by_hand(how.index, how.inlined));
        if (!m) throw wrong("an opening: " + m.error().to_string());
        require(map_inspection::wait_for_sweep(*m).has_value(), "a sweep");
        live(*m, v, r, how.steps);
        if (life == lives && how.crashes) v.image = read_image(made);  // as a SIGKILL leaves it
        if (const auto closed = m->close(); !closed) {
            throw wrong("a close: " + closed.error().to_string());
        }
    }
    if (!how.crashes) v.image = read_image(made);
    fs::remove(made);
    find_pages(v);
    file.write(v);
    auto m = map::open(file.path(), by_hand());
    require(m.has_value(), "an opening of an undamaged region");
    v.content = content_of(*m);
    for (const auto& [key, value] : v.content) v.gone.erase(key);
    require(v.content.size() > v.names * 2 / 5 && v.gone.size() > v.names / 10,
            "too little came and went");
    return v;
}

}  // namespace hf::damage_test
