// Fuzzes recovery on the medium `file` with journals that another program has modified.
//
// A crashed region and its journal are made once. The first byte of the input selects whether the
// rest of the input replaces the journal or is a program of edits, eight bytes each: a place, a
// kind and a value. An edit may also correct the checksums, so that the code after their check is
// reached. open() for inspection, which runs the whole recovery on a private copy, must end, change
// neither file, and refuse the region or recover a sound one; with correct checksums over wrong
// lines the region may be any, but nothing may crash.
#include "checkpoint_map/engine.hpp"
#include "journal/core.hpp"
#include "journal/header.hpp"
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
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace j = hf::journal;
using hf::u64;
using machine = hf::engine<hf::incll_discipline>;
using journal_bytes = std::vector<std::byte>;

void require(bool condition) {
    if (!condition) std::abort();
}

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::abort();
}

constexpr j::geometry shape{4 * j::page, 4};

/// The base is shared by all runs, the journal is written for each.
struct victim {
    fs::path file;
    journal_bytes journal;
    j::identity who;
    int fd = -1;
};

/// A region that was not closed, and a journal that repeats some of its lines for a few epochs,
/// with their current contents.
victim make_victim() {
    const char* parent = std::getenv("HF_TEST_DIR");
    std::string directory =
        std::string(parent != nullptr ? parent : "/dev/shm") + "/holdfast-fuzz-XXXXXX";
    require(::mkdtemp(directory.data()) != nullptr);
    victim v;
    v.file = fs::path(directory) / "store.hf";
    hf::engine_options options;
    options.file.medium = hf::medium_kind::file;
    options.epochs.epoch = std::chrono::microseconds(0);
    auto opened = machine::open(v.file, options);
    require(opened.has_value());
    auto& epochs = (*opened)->epochs();
    require(epochs.wait_durable(epochs.current_epoch()).has_value());
    // So that the base has the same contents as memory.
    require((*opened)->epochs().journal()->redo()->apply_all().has_value());
    const u64 epoch = (*opened)->epochs().current_epoch();
    const std::byte* const base = (*opened)->file().base();
    const auto& super = (*opened)->file().super();
    std::copy(std::begin(super.uuid), std::end(super.uuid), v.who.region.begin());
    v.who.generation = super.generation;
    // As in the base: durable up to the epoch before the current one.
    const fs::path journal = v.file.string() + ".journal";
    v.fd = ::open((v.file.string() + ".made").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    j::posix_file disk(v.fd, "made");
    const int base_fd = ::open(v.file.c_str(), O_RDWR | O_CLOEXEC);
    j::posix_file base_disk(base_fd, "base");
    auto core = j::core::start(disk, base_disk, v.who, epoch - 1, shape);
    require(core.has_value());
    for (u64 e = 0; e < 12; ++e) {
        std::vector<u64> lines{0x2000 / 64};  // the epoch record
        for (u64 line = 0; line < 20 + e * 7; ++line) lines.push_back(1024 + line * (1 + e % 3));
        journal_bytes data;
        hf::layout::epoch_record record{};
        hf::layout::epoch_record_init(record, epoch + e + 1);
        for (const u64 line : lines) {
            const auto* from =
                line == lines[0] ? reinterpret_cast<const std::byte*>(&record) : base + line * 64;
            data.insert(data.end(), from, from + 64);
        }
        if ((*core)->needs_space({epoch + e, lines, data.data()}) && (*core)->used() > 1) break;
        require((*core)->commit({epoch + e, lines, data.data()}).has_value());
    }
    v.journal.resize(fs::file_size(v.file.string() + ".made"));
    require(disk.read(0, v.journal).has_value());
    ::close(v.fd);
    ::close(base_fd);
    // The region as a crash leaves it: an unclosed base, and our journal.
    fs::copy_file(v.file, v.file.string() + ".kept");
    opened->reset();
    fs::rename(v.file.string() + ".kept", v.file);
    fs::remove(journal);
    v.fd = ::open(journal.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    require(v.fd >= 0);
    return v;
}

/// Corrects the checksum of the chunk that starts on this page.
void mend_chunk(journal_bytes& bytes, u64 at, const j::identity& who) {
    j::chunk_header h{};
    if (at + sizeof h > bytes.size()) return;
    std::memcpy(&h, bytes.data() + at, sizeof h);
    if (h.magic != j::chunk_magic) return;
    const u64 length = j::chunk_bytes(h.runs, h.lines);
    if (length > bytes.size() - at) return;
    const u64 from = at + offsetof(j::chunk_header, record);
    h.checksum = hf::checksum64(bytes.data() + from, at + length - from, j::seed_of(who));
    std::memcpy(bytes.data() + at, &h, sizeof h);
}

void mend_header(journal_bytes& bytes, u64 slot) {
    j::header_slot s{};
    if (slot * j::page + sizeof s > bytes.size()) return;
    std::memcpy(&s, bytes.data() + slot * j::page, sizeof s);
    constexpr std::size_t from = offsetof(j::header_slot, version);
    s.checksum = hf::checksum64(reinterpret_cast<const std::byte*>(&s) + from, sizeof s - from,
                                j::header_magic);
    std::memcpy(bytes.data() + slot * j::page, &s, sizeof s);
}

struct edit {
    std::uint16_t place;  ///< of a word, or of a page
    std::uint8_t page;
    std::uint8_t kind;
    std::uint32_t value;
};
static_assert(sizeof(edit) == 8);

/// Applies an edit. True: it corrected a checksum over changed contents.
bool apply(journal_bytes& bytes, const edit& e, const j::identity& who) {
    const u64 pages = std::max<u64>(1, bytes.size() / j::page);
    const u64 page = e.page % pages * j::page;
    const u64 word = page + e.place % 512 * 8;
    if (word + 8 > bytes.size()) return false;
    switch (e.kind % 6) {
        case 0:
            bytes[word] ^= std::byte{1} << (e.value % 8);
            return false;
        case 1: {
            const u64 value = e.value;
            std::memcpy(bytes.data() + word, &value, sizeof value);
            return false;
        }
        case 2:
            mend_chunk(bytes, page, who);
            return true;
        case 3:
            mend_header(bytes, e.page % 2);
            return true;
        case 4:  // copies a chunk to another place
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), j::page,
                        bytes.begin() + static_cast<std::ptrdiff_t>(e.value % pages * j::page));
            return false;
        default:
            bytes.resize(std::min<u64>(bytes.size(), e.value % (2 * bytes.size())));
            return false;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const victim v = make_victim();
    if (size == 0) return 0;
    const bool raw = (*data & 1) != 0;
    ++data;
    --size;
    journal_bytes bytes = v.journal;
    bool mended = false;
    if (raw) {
        bytes.resize(size);
        if (size != 0) std::memcpy(bytes.data(), data, size);
    }
    for (; !raw && size >= sizeof(edit); size -= sizeof(edit), data += sizeof(edit)) {
        edit e{};
        std::memcpy(&e, data, sizeof e);
        mended = apply(bytes, e, v.who) || mended;
    }
    require(::ftruncate(v.fd, 0) == 0);
    require(::pwrite(v.fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    const auto looked = hf::inspect_map(v.file);
    if (looked.refusal()) {
        require(!looked.refusal()->to_string().empty());
        const auto code = looked.refusal()->code;
        if (!mended && code != hf::errc::corrupt && code != hf::errc::incompatible) {
            fail(looked.refusal()->to_string());
        }
        return 0;
    }
    const auto report = looked.audit();
    if (!mended && !report.ok()) fail(report.violations().front().text);
    return 0;
}
