// The C faces: holdfast/section.h and holdfast/section_hooks.h.
#include "section/environment.hpp"
#include "section/last_error.hpp"
#include "section/runtime.hpp"
#include "section/symbol.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace {

using hf::section::change;
using hf::section::cut_outcome;
using hf::section::group;
using hf::section::is_audited;
using hf::section::is_inside_runtime;
using hf::section::ordered_guard;
using hf::section::region_entry;
using hf::section::root_entry;
using hf::section::runtime;
using hf::section::thread_record;

using hf::section::fail;
using hf::section::told;

int fail(hf::errc code, const char* what, const std::string& where, const char* why,
         const char* next) {
    return fail(hf::error{code, what, where, why, next});
}

/// A call of the API: inside a section of its own, or a part of the caller's.
class call {
   public:
    explicit call(const void* site) : record_(runtime::get().me()) {
        runtime::get().enter(record_, site);
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() { runtime::leave(record_); }
    [[nodiscard]] static group& all() { return runtime::get().opened(); }
    [[nodiscard]] change by() { return all().change_by(record_); }

   private:
    thread_record& record_;
};

/// errno as it was, at the end: the hooks stand where the program has no call.
class kept_errno {
   public:
    kept_errno() noexcept : value_(errno) {}
    kept_errno(const kept_errno&) = delete;
    kept_errno& operator=(const kept_errno&) = delete;
    ~kept_errno() { errno = value_; }

   private:
    const int value_;
};

bool check_open(const char* what) {
    if (runtime::is_open()) return true;
    fail(hf::errc::usage, what, "", "no group of regions is open", "call hf_group_open() first");
    return false;
}

bool names(const char (&field)[24], std::string_view name) {
    return std::string_view(field, ::strnlen(field, sizeof field)) == name;
}
std::string_view name_of(const region_entry& r) {
    return {r.name, ::strnlen(r.name, sizeof r.name)};
}

region_entry* entry_of(hf_region* r) { return reinterpret_cast<region_entry*>(r); }
const region_entry* entry_of(const hf_region* r) {
    return reinterpret_cast<const region_entry*>(r);
}
hf_region* handle_of(region_entry* r) { return reinterpret_cast<hf_region*>(r); }

/// Ends the process for a pointer that is no region of the open group.
std::uint16_t number_of(const hf_region* r) {
    const auto& regions = runtime::get().opened().table().regions;
    const auto* const e = entry_of(r);
    const auto bytes =
        reinterpret_cast<std::uintptr_t>(e) - reinterpret_cast<std::uintptr_t>(regions.data());
    HF_CHECK(bytes < sizeof regions && bytes % sizeof(region_entry) == 0 && e->name[0] != '\0',
             "an hf_region* that is no region of the open group");
    return static_cast<std::uint16_t>(bytes / sizeof(region_entry));
}

region_entry* find_region(std::string_view name) {
    for (region_entry& r : runtime::get().opened().table().regions) {
        if (!name.empty() && name_of(r) == name) return &r;
    }
    return nullptr;
}

template <class Result>
void* told_block(Result&& r) {
    if (r) return *r;
    fail(r.error());
    errno = ENOMEM;
    return nullptr;
}

}  // namespace

extern "C" {

const char* hf_section_error(void) { return hf::section::last_error_text.c_str(); }

// -------------------------------------------------------------------------------------- the group

int hf_group_open(const char* path, const hf_group_options* options) {
    const auto asked =
        hf::section::with_environment(path, options == nullptr ? hf_group_options{} : *options);
    return asked ? told(runtime::get().open(asked->file, asked->options)) : fail(asked.error());
}
int hf_group_close(void) { return told(runtime::get().close()); }
int hf_group_created(void) { return runtime::get().created() ? 1 : 0; }
int hf_group_recovered(void) { return runtime::get().recovered() ? 1 : 0; }

// ---------------------------------------------------------------------------------------- regions

hf_region* hf_region_find(const char* name) {
    if (!check_open("find a region")) return nullptr;
    call c(__builtin_return_address(0));
    change by = c.by();
    const ordered_guard guard(runtime::get().table_lock(), by);
    return handle_of(find_region(name));
}

hf_region* hf_region_open(const char* name) {
    if (!check_open("open a region")) return nullptr;
    call c(__builtin_return_address(0));
    const std::string_view wanted(name);
    if (wanted.empty() || wanted.size() >= sizeof(region_entry::name)) {
        fail(hf::errc::usage, "open a region", name, "a region's name has 1 to 47 bytes",
             "choose another name");
        return nullptr;
    }
    change by = c.by();
    const ordered_guard guard(runtime::get().table_lock(), by);
    if (region_entry* const found = find_region(wanted)) return handle_of(found);
    for (region_entry& r : call::all().table().regions) {
        if (r.name[0] != '\0') continue;
        by.zero(&r, sizeof r);
        by.copy(r.name, wanted.data(), wanted.size());
        return handle_of(&r);
    }
    fail(hf::errc::no_space, "create a region", name, "the group has 64 regions already",
         "remove one, or keep several things in one region");
    return nullptr;
}

int hf_region_remove(hf_region* r) {
    if (!check_open("remove a region")) return static_cast<int>(hf::errc::usage);
    call c(__builtin_return_address(0));
    const std::uint16_t number = number_of(r);
    change by = c.by();
    call::all().memory().free_all(by, number);
    const ordered_guard guard(runtime::get().table_lock(), by);
    by.zero(r, sizeof(region_entry));
    return 0;
}

const char* hf_region_name(const hf_region* r) { return entry_of(r)->name; }

void* hf_root_get(const hf_region* r, const char* name) {
    if (!check_open("find a root")) return nullptr;
    call c(__builtin_return_address(0));
    static_cast<void>(number_of(r));
    change by = c.by();
    const ordered_guard guard(runtime::get().table_lock(), by);
    for (const root_entry& root : entry_of(r)->roots) {
        if (root.value != nullptr && names(root.name, name)) return root.value;
    }
    return nullptr;
}

int hf_root_set(hf_region* r, const char* name, void* p) {
    if (!check_open("set a root")) return static_cast<int>(hf::errc::usage);
    call c(__builtin_return_address(0));
    static_cast<void>(number_of(r));
    const std::string_view wanted(name);
    if (wanted.empty() || wanted.size() >= sizeof(root_entry::name)) {
        return fail(hf::errc::usage, "set a root", name, "a root's name has 1 to 23 bytes",
                    "choose another name");
    }
    if (p != nullptr && !call::all().contains(p)) {
        return fail(hf::errc::usage, "set a root", name,
                    "the address is outside of the group: the next start would not find it",
                    "allocate the object with hf_alloc()");
    }
    change by = c.by();
    const ordered_guard guard(runtime::get().table_lock(), by);
    root_entry* free = nullptr;
    for (root_entry& root : entry_of(r)->roots) {
        if (names(root.name, wanted)) {
            by.store(root.value, p);
            return 0;
        }
        if (free == nullptr && root.value == nullptr) free = &root;
    }
    if (p == nullptr) return 0;
    if (free == nullptr) {
        return fail(hf::errc::no_space, "set a root", name, "the region has 32 roots already",
                    "keep several things behind one root");
    }
    by.zero(free, sizeof *free);
    by.copy(free->name, wanted.data(), wanted.size());
    by.store(free->value, p);
    return 0;
}

// ----------------------------------------------------------------------------------------- memory

void* hf_alloc(hf_region* r, size_t bytes) {
    if (!check_open("allocate")) return nullptr;
    call c(__builtin_return_address(0));
    change by = c.by();
    return told_block(call::all().memory().allocate(by, number_of(r), bytes));
}

void* hf_zeroed(hf_region* r, size_t count, size_t bytes) {
    if (!check_open("allocate")) return nullptr;
    call c(__builtin_return_address(0));
    size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) all = std::numeric_limits<size_t>::max();
    change by = c.by();
    void* const p = told_block(call::all().memory().allocate(by, number_of(r), all));
    if (p != nullptr) by.zero(p, all);
    return p;
}

void* hf_aligned(hf_region* r, size_t alignment, size_t bytes) {
    if (!check_open("allocate")) return nullptr;
    if (!std::has_single_bit(alignment) || alignment > hf::section::page_bytes) {
        fail(hf::errc::usage, "allocate", "", "an alignment must be a power of two up to 64 KiB",
             "choose another alignment");
        errno = EINVAL;
        return nullptr;
    }
    call c(__builtin_return_address(0));
    change by = c.by();
    return told_block(call::all().memory().allocate_aligned(by, number_of(r), bytes, alignment));
}

void hf_free(void* p) {
    if (p == nullptr) return;
    HF_CHECK(runtime::is_open(), "hf_free() while no group of regions is open");
    call c(__builtin_return_address(0));
    change by = c.by();
    call::all().memory().free(by, p);
}

size_t hf_usable_size(const void* p) {
    return p == nullptr || !runtime::is_open() ? 0 : call::all().memory().usable(p);
}

void* hf_realloc(hf_region* r, void* p, size_t bytes) {
    if (p == nullptr) return hf_alloc(r, bytes);
    if (!check_open("allocate")) return nullptr;
    call c(__builtin_return_address(0));
    const size_t had = call::all().memory().usable(p);
    // A block stays where it is if it fits and does not waste more than half.
    if (bytes <= had && bytes > had / 2) return p;
    change by = c.by();
    void* const moved = told_block(call::all().memory().allocate(by, number_of(r), bytes));
    if (moved == nullptr) return nullptr;
    by.copy(moved, p, std::min(had, bytes));
    call::all().memory().free(by, p);
    return moved;
}

// --------------------------------------------------------------------------------------- sections

void hf_section_begin(void) {
    if (!runtime::is_open()) return;
    thread_record& r = runtime::get().me();
    runtime::get().enter(r, __builtin_return_address(0));
    ++r.begun;
}

void hf_section_end(void) {
    if (!runtime::is_open()) return;
    thread_record& r = runtime::get().me();
    HF_CHECK(r.begun != 0, "hf_section_end() without hf_section_begin() in this thread");
    --r.begun;
    runtime::leave(r);
}

int hf_section_depth(void) {
    return runtime::is_open() ? static_cast<int>(runtime::get().me().depth) : 0;
}

int hf_wait_stable(void) { return told(runtime::get().wait_stable()); }

uint64_t hf_section_ticket(void) { return runtime::get().ticket(); }
uint64_t hf_section_durable(void) { return runtime::get().durable(); }

int hf_section_cut(void) {
    if (!check_open("cut")) return static_cast<int>(hf::errc::usage);
    if (hf_section_depth() != 0) {
        return fail(hf::errc::usage, "cut", "", "the calling thread is inside a section",
                    "end the section first");
    }
    const cut_outcome how = runtime::get().try_cut(runtime::get().patience_ns());
    if (how == cut_outcome::cut) return 0;
    return fail(hf::errc::busy, "cut", runtime::get().opened().file().path().string(),
                how == cut_outcome::disk_busy ? "the disk still writes the cuts before"
                                              : "a section was in the way",
                "try again");
}

// ---------------------------------------------------------------------------------------- hooks

/// The thread could end while the gate waits for it, or while a line is claimed.
[[noreturn]] static void refuse_cancellation(const void* site) {
    const hf::section::inside_runtime in;
    const std::string text = "a store is announced at " + hf::section::source_of(site) +
                             ": the thread has asynchronous cancellation, so it could end at any "
                             "instruction inside the section: use deferred cancellation";
    hf::fatal(text.c_str());
}

[[gnu::noinline]] static int announce(const void* p, size_t n, const void* site) {
    if (!runtime::is_open() || n == 0) return 0;
    const kept_errno kept;
    HF_CHECK(!is_inside_runtime(),
             "a signal handler that interrupted the section runtime stores to persistent memory");
    if (hf::section::is_cancelled_anywhere()) [[unlikely]]
        refuse_cancellation(site);
    runtime& all = runtime::get();
    if (!hf::same_region(p, all.opened().file().base())) return 0;  // of another discipline
    thread_record& r = all.me();
    // In graph mode no cut can fall between this call and the store.
    const bool alone = r.depth == 0 && !runtime::has_graph();
    runtime::note_announcement();
    if (alone) all.enter(r, site);
    if (is_audited()) [[unlikely]] {
        const hf::section::inside_runtime in;
        hf::section::tell_audit(p, n, site);
    }
    all.touch(r, p, n);
    return alone ? 1 : 0;
}

/// A store by a thread that is inside, the commonest first touch.
static bool announce_inside(const void* p, size_t n) {
    thread_record* const r = hf::section::detail::my_record;
    if (r == nullptr || r->depth == 0 || is_inside_runtime()) return false;
    if (hf::section::is_cancelled_anywhere() || !hf::section::have_tags(p, n)) return false;
    runtime::note_announcement();
    runtime::get().touch(*r, p, n);
    return true;
}

/// A store outside of sections, by a thread that has been inside before.
static bool announce_alone(const void* p, size_t n, const void* site) {
    thread_record* const r = hf::section::detail::my_record;
    if (r == nullptr || r->depth != 0 || is_inside_runtime()) return false;
    if (hf::section::is_cancelled_anywhere() || !hf::section::have_tags(p, n)) return false;
    if (!runtime::get().try_enter(*r, site)) return false;
    runtime::note_announcement();
    // The tags count from here on: no cut is made before the thread leaves.
    runtime::get().touch(*r, p, n);
    return true;
}

/// Not inlined: the fast path of hf_section_store() would save registers for it.
[[gnu::noinline]] static int announce_slowly(const void* p, size_t n, const void* site) {
    if (announce_inside(p, n)) [[likely]]
        return 0;
    return announce_alone(p, n, site) ? 1 : announce(p, n, site);
}

int hf_section_store(const void* p, size_t n) {
    // The store that follows would not wait for its line, but a copy for the undo log would.
    __builtin_prefetch(p, 1);
    if (hf::section::needs_no_announcement(p, n)) return 0;
    return announce_slowly(p, n, __builtin_return_address(0));
}

void hf_section_stored(void) {
    if (thread_record* const r = hf::section::detail::my_record;
        r != nullptr && runtime::is_in_epoch_mode()) [[likely]] {
        return runtime::leave(*r);
    }
    if (!runtime::is_open()) return;
    const kept_errno kept;
    if (is_audited()) [[unlikely]] {
        const hf::section::inside_runtime in;
        hf_audit_stored();
    }
    runtime::leave(runtime::get().me());
}

// -------------------------------------------------------------------------------------- diagnosis

void hf_section_numbers_get(hf_section_numbers* into) { *into = runtime::get().numbers(); }
void hf_section_numbers_restart(void) { runtime::get().restart_numbers(); }

size_t hf_section_report(char* text, size_t size) {
    const hf::section::inside_runtime in;
    const hf_section_numbers n = runtime::get().numbers();
    const std::string where =
        n.in_the_way == nullptr ? "none" : hf::section::source_of(n.in_the_way);
    const int length = std::snprintf(
        text, size,
        "cuts %llu, failed attempts %llu, disk busy %llu, longest time between cuts %.1f ms, "
        "pause p50 %.2f, p99 %.2f, longest %.2f ms, "
        "lines %llu, log %llu bytes, sections %llu, in the way: %s (%.1f ms)",
        static_cast<unsigned long long>(n.cuts), static_cast<unsigned long long>(n.failed),
        static_cast<unsigned long long>(n.disk_busy), static_cast<double>(n.longest_ns) / 1e6,
        static_cast<double>(n.pause_p50_ns) / 1e6, static_cast<double>(n.pause_p99_ns) / 1e6,
        static_cast<double>(n.longest_pause_ns) / 1e6, static_cast<unsigned long long>(n.lines),
        static_cast<unsigned long long>(n.log_bytes), static_cast<unsigned long long>(n.sections),
        where.c_str(), static_cast<double>(n.in_the_way_ns) / 1e6);
    return length < 0 ? 0 : static_cast<size_t>(length);
}

}  // extern "C"
