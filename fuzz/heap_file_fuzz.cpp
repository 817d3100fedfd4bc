// Fuzzes the tools for heaps with files that another program has modified.
//
// The first byte of the input selects one of two heaps, closed or crashed; the rest is a program of
// edits, eight bytes each: a place, a kind and a value. The file must be refused, or read, printed
// and drawn; a repaired heap is sound and can be opened; a sound heap can be used. No crash, no
// hang, no report of a sanitizer.
#include <holdfast/heap.hpp>
#include <holdfast/nv/vector.hpp>

#include "base/checksum.hpp"
#include "base/random.hpp"
#include "damage/edits.hpp"
#include "heap/mend.hpp"
#include "heap/testing.hpp"
#include "tools/holdfast/view/objects.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace nv = hf::nv;
using hf::u64;

void require(bool condition, const std::string& what) {
    if (condition) return;
    std::fprintf(stderr, "heap_file_fuzz: %s\n", what.c_str());
    std::abort();
}

struct leaf {
    static constexpr std::string_view nv_name = "leaf";
    nv::p<int> value;
    nv::string text;
};
struct tree {
    static constexpr std::string_view nv_name = "tree";
    nv::ptr<tree> next;
    nv::vector<nv::ptr<leaf>> leaves;
    nv::weak<tree> back;
    nv::array<nv::p<short>, 4> marks;
};

nv::heap_options by_hand() {
    nv::heap_options o;
    o.region.initial_size = u64{1} << 20;
    o.region.max_size = u64{16} << 20;
    o.epoch = std::chrono::microseconds(0);
    return o;
}

/// One file that is reused for all heaps.
class scratch_file {
   public:
    scratch_file() {
        const char* parent = std::getenv("HF_TEST_DIR");
        std::string directory =
            std::string(parent != nullptr ? parent : "/dev/shm") + "/holdfast-fuzz-XXXXXX";
        require(::mkdtemp(directory.data()) != nullptr, "no scratch directory");
        path_ = fs::path(directory) / "heap.hf";
    }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() {
        std::error_code ignored;
        fs::remove_all(path_.parent_path(), ignored);
    }
    [[nodiscard]] const fs::path& path() const noexcept { return path_; }
    void write(const std::string& image, u64 used) const {
        const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const auto n = static_cast<std::size_t>(std::min<u64>(used, image.size()));
        const bool done = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(image.size())) == 0 &&
                          ::pwrite(fd, image.data(), n, 0) == static_cast<ssize_t>(n);
        require(done, "can't write the heap's file");
        ::close(fd);
    }
    [[nodiscard]] std::string read() const {
        std::string bytes(fs::file_size(path_), '\0');
        const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        require(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
                "can't read the heap's file");
        ::close(fd);
        return bytes;
    }

   private:
    fs::path path_;
};

scratch_file& scratch() {
    static scratch_file file;
    return file;
}

struct victim {
    std::string image;
    u64 used = 0;             ///< all bytes after it are zero
    std::vector<u64> places;  ///< of the words that are not zero
};

void grow(nv::heap<>& heap, nv::root<tree>& root) {
    for (int i = 0; i < 20; ++i) {
        heap.atomic([&](nv::tx<>& tx) {
                auto t = tx.make<tree>();
                for (int k = 0; k < i % 4; ++k) {
                    auto l = tx.make<leaf>(k);
                    l->text.assign(tx, std::string(static_cast<std::size_t>(7 * k), 'x'));
                    t->leaves.push_back(tx, l);
                }
                if (root) t->back.set(tx, root.get());
                t->next.set(tx, root.get());
                root.set(tx, t);
            })
            .value();
    }
}

/// In a crashed heap references own objects that nothing else does.
victim make_victim(bool crashes) {
    fs::remove(scratch().path());
    auto heap = nv::heap<>::open(scratch().path(), by_hand()).value();
    {
        auto root = heap.root<tree>("tree").value();
        grow(heap, root);
        nv::ref<tree> kept;
        heap.atomic([&](nv::tx<>& tx) {
                kept = root->next.get();
                root->next.set(tx, root->next->next.get());
            })
            .value();
        if (crashes) {
            nv::heap_testing::abandon(heap);
        }
    }
    if (!crashes) heap.close().value();
    victim v;
    v.image = scratch().read();
    v.used = v.image.find_last_not_of('\0') + 1;
    for (u64 at = 0; at + 8 <= v.used; at += 8) {
        u64 word = 0;
        std::memcpy(&word, v.image.data() + at, sizeof word);
        if (word != 0) v.places.push_back(at);
    }
    return v;
}

/// Three of four edits are at a place with data, or next to one.
hf::damage_test::edit read_edit(const std::uint8_t* at, const victim& v) {
    using namespace hf::damage_test;  // NOLINT(google-build-using-namespace): of its names alone
    u64 place = at[0] | u64{at[1]} << 8 | u64{at[2]} << 16;
    if (at[7] % 4 != 0) place = v.places[place % v.places.size()] + at[7] % 16;
    std::uint32_t value = 0;
    std::memcpy(&value, at + 4, sizeof value);
    const auto kind = static_cast<edit_kind>(at[3] % edit_kinds);
    // Most files keep their length.
    return {place, kind == edit_kind::end && value % 16 != 0 ? edit_kind::bit : kind, value};
}

/// As the program does: reads, changes and drops everything.
void use() {
    auto heap = nv::heap<>::open(scratch().path(), by_hand());
    if (!heap) return;
    const auto report = heap->check();
    require(report && report->ok(), "what was sound is not after it was opened");
    auto root = heap->root<tree>("tree");
    if (!root) return;
    auto done = heap->atomic([&](nv::tx<>& tx) {
        u64 sum = 0;
        for (auto t = root->get(); t; t = t->next) {
            if (++sum > 1000) break;  // a damaged pointer may form a cycle
            // No check knows that a vector's length fits its array, so elements are not read.
            sum += t->leaves.size() % 2;
            (void)t->back.get();
        }
        root->set(tx, nullptr);
    });
    (void)done;
}

void print(const nv::heap_look& look, const nv::heap_facts& facts) {
    const hf::tool::object_text text(look.file(), facts);
    u64 told = 0;
    for (const auto& o : facts.objects) {
        if (++told > 200) break;
        hf::tool::sheet s;
        text.add_to(s, o, 50);
        require(!s.text().empty() && !text.to_json(o, 50).empty(), "an object says nothing");
    }
    (void)hf::tool::graph_of(look.file(), facts, nullptr, 200);
    if (!facts.objects.empty()) {
        (void)hf::tool::graph_of(look.file(), facts, &facts.objects.front(), 200);
    }
}

std::string hint;  ///< the damage, for messages
/// open() has no objects to destroy: memory that it freed twice would end the process.
bool is_at_rest = false;

/// Whether the heap is sound; nullopt: the file is refused.
std::optional<bool> look_at_it(bool prints) {
    is_at_rest = false;
    const auto look = nv::heap_look::open(scratch().path());
    if (!look) {
        hint = look.error().to_string();
        return std::nullopt;
    }
    const auto facts = look->read();
    if (!facts) {
        hint = facts.error().to_string();
        return std::nullopt;
    }
    if (facts->violations != 0) hint = facts->report.violations.front();
    using what = nv::heap_finding::what;
    is_at_rest = facts->report.orphans == 0 && facts->report.doomed == 0 &&
                 std::none_of(facts->findings.begin(), facts->findings.end(), [](const auto& f) {
                     return f.kind == what::slot || f.kind == what::list;
                 });
    if (prints) print(*look, *facts);
    return facts->violations == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const victim victims[] = {make_victim(false), make_victim(true)};
    if (size == 0) return 0;
    const victim& v = victims[data[0] % 2];
    // Short inputs are programs, too: the missing bytes of the last edit are derived from the
    // others.
    std::vector<std::uint8_t> program(data + 1, data + std::min<std::size_t>(size, 1 + 8 * 16));
    hf::xoshiro256ss rest(hf::checksum64(data, size));
    while (program.size() % 8 != 0) program.push_back(static_cast<std::uint8_t>(rest()));
    std::string image = v.image;
    for (std::size_t at = 0; at < program.size(); at += 8) {
        hf::damage_test::apply(read_edit(program.data() + at, v), image, v.used);
    }
    scratch().write(image, v.used);
    const auto before = look_at_it(true);
    if (program.empty())
        require(before.value_or(false), "a heap that nobody damaged is not sound: " + hint);
    if (!before.value_or(false)) {
        const bool all = size % 2 == 0;
        if (!nv::mend_heap(scratch().path(), {all, all})) {
            if (is_at_rest) (void)nv::heap<>::open(scratch().path(), by_hand());
            return 0;
        }
        require(look_at_it(false).value_or(false), "what was mended is not sound: " + hint);
    }
    use();
    return 0;
}
