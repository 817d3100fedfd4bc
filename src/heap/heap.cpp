// heap.cpp: the public heap (include/holdfast/heap.hpp) over a core.
#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "heap/core.hpp"
#include "heap/look.hpp"
#include "transaction/transaction_area.hpp"

#include <utility>

namespace hf::nv {

unsigned detail::next_type_number() noexcept {
    static std::atomic<unsigned> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
}

namespace detail {

// ---------------------------------------------------------------------------------- references

held* hold(attempt& a, std::uint64_t offset) { return a.hold(offset, true); }
held* hold_weakly(attempt& a, std::uint64_t offset) { return a.hold(offset, false); }

void drop(held* h) noexcept {
    auto* const mine = static_cast<held_object*>(h);
    const std::shared_ptr<held_table> home = mine->home;
    home->drop(mine);
    // Within a transaction, its commit does this.
    if (!home->has_queue() || transaction::running() != nullptr) return;
    if (core* const owner = home->owner.load(std::memory_order_acquire)) {
        owner->tidy_up_if_needed();
    }
}
void retain_weakly(held* h) noexcept {
    auto* const mine = static_cast<held_object*>(h);
    mine->home->retain_weakly(mine);
}
void drop_weakly(held* h) noexcept {
    auto* const mine = static_cast<held_object*>(h);
    const std::shared_ptr<held_table> home = mine->home;
    home->drop_weakly(mine);
}
bool is_alive(attempt& a, held* h) { return a.is_alive(*static_cast<held_object*>(h)); }

void add_count(attempt& a, std::uint64_t offset, int by) { a.add(offset, by); }
std::byte* make_object(attempt& a, const type_info& type, std::uint64_t elements) {
    return a.make(type, elements);
}
std::byte* try_make_object(attempt& a, const type_info& type, std::uint64_t elements) {
    return a.make(type, elements, attempt::where_full::null);
}
void forsake(attempt& a, const void* object) {
    a.forsake(reinterpret_cast<u64>(object) & window_mask);
}
std::uint64_t proxy_of(attempt& a, std::uint64_t offset) { return a.proxy(offset); }
std::uint64_t proxy_target(transaction& t, std::uint64_t proxy) {
    return t.load(reinterpret_cast<const std::uint64_t*>(t.at_offset(proxy, sizeof(u64))));
}
transaction& transaction_of(attempt& a) noexcept { return a.running(); }

attempt& attempt_for(const void* pointer) {
    if (current == nullptr || !current->running().covers(pointer)) [[unlikely]] {
        misuse(
            "a persistent pointer or reference was made outside of a transaction of its heap: "
            "persistent objects are made by tx.make<T>() only");
    }
    return *current;
}

// ------------------------------------------------------------------------------------ mistakes

void misuse(const char* what) {
    if (transaction::running() != nullptr) {
        transaction::fail({errc::usage, "run a transaction", "", what, "mend the program"});
    }
    hf::detail::check_failed(__FILE__, __LINE__, "correct use of a heap", what);
}
void broken(const char* what) {
    if (transaction::running() != nullptr) {
        transaction::fail({errc::corrupt, "run a transaction", "a container of the heap", what,
                           "check its file with `holdfast check`; restore it from a backup"});
    }
    hf::detail::check_failed(__FILE__, __LINE__, "a sound heap", what);
}
void bad_cursor(bool is_null) {
    misuse(is_null ? "a null pointer was followed"
                   : "a cursor was used outside of the transaction that made it: keep an nv::ref");
}
void bad_reference(const held* h) {
    if (h == nullptr) misuse("a null reference was followed");
    switch (h->state.load(std::memory_order_acquire)) {
        case held::closed:
            misuse("a reference was used whose heap has been closed");
        case held::gone:
            misuse("a reference was used to an object of a transaction that did not commit");
        default:
            misuse("a reference was used outside of a transaction of its heap");
    }
}

// ---------------------------------------------------------------------------------------- heaps

namespace {

tl::unexpected<error> closed(const char* what) {
    return failure({errc::usage, what, "the heap", "it was closed", "open it anew"});
}

result<void> check_outside(const char* what) {
    if (transaction::running() == nullptr) return {};
    return failure({errc::usage, what, "the heap", "a transaction is running", "end it first"});
}

region_options for_heaps(const heap_options& options) {
    region_options o = options.region;
    o.kind = discipline::transaction;
    o.initial_size = options.engine == engine::shadow
                         ? first_size_beside_slots(o.initial_size, o.max_size)
                         : first_size(o.initial_size, o.max_size);
    return o;
}

}  // namespace

heap_base::heap_base(std::unique_ptr<core> c) noexcept
    : core_(std::move(c)), runner_(&core_->all()), is_read_only_(core_->file().read_only()) {}
heap_base::heap_base(heap_base&& other) noexcept
    : core_(std::move(other.core_)),
      runner_(std::exchange(other.runner_, nullptr)),
      is_read_only_(other.is_read_only_) {}
heap_base& heap_base::operator=(heap_base&& other) noexcept {
    if (this != &other) {
        check_not_in_use();
        (void)close();
        core_ = std::move(other.core_);
        runner_ = std::exchange(other.runner_, nullptr);
        is_read_only_ = other.is_read_only_;
    }
    return *this;
}
/// A destructor has no way to say so.
void heap_base::check_not_in_use() const {
    HF_CHECK(core_ == nullptr || core_->is_inherited() || transaction::running() == nullptr,
             "a heap is destroyed within a transaction");
}
heap_base::~heap_base() {
    check_not_in_use();
    (void)close();
}

result<heap_base> heap_base::open(const std::filesystem::path& path, std::string_view brand,
                                  const heap_options& options, isolation kept) {
    opening_options o;
    o.file = for_heaps(options);
    o.rooms = heap_rooms();
    o.upgrades = transaction_upgrades();
    auto opened = open_region(path, o);
    if (!opened) return tl::unexpected(opened.error());
    auto c = core::open(std::move(*opened), brand, options, kept);
    if (!c) return tl::unexpected(c.error());
    return heap_base(std::move(*c));
}

result<heap_base> heap_base::make_volatile(std::uint64_t bytes, std::string_view brand,
                                           const heap_options& options) {
    auto opened = create_volatile(bytes, for_heaps(options));
    if (!opened) return tl::unexpected(opened.error());
    auto c = core::open(std::move(*opened), brand, options, isolation::threads);
    if (!c) return tl::unexpected(c.error());
    return heap_base(std::move(*c));
}

void heap_base::refuse_writes() {
    transaction::fail({errc::denied, "change the heap", "", "it was opened for inspection only",
                       "use read(), or open it for writing"});
}

transactional& heap_base::runner() const {
    HF_CHECK(runner_ != nullptr, "the heap was closed");
    return *runner_;
}

result<void> heap_base::close() {
    if (core_ == nullptr) return {};
    if (core_->is_inherited()) {
        runner_ = nullptr;
        return leave_to_parent(core_, "close the heap");
    }
    if (auto ok = check_outside("close the heap"); !ok) return ok;
    runner_ = nullptr;
    const std::unique_ptr<core> c = std::move(core_);
    return c->close();
}

result<std::pair<std::byte*, held*>> heap_base::root(std::string_view name, const type_info& type) {
    if (core_ == nullptr) return closed("find a root");
    if (auto ok = check_outside("find a root"); !ok) return tl::unexpected(ok.error());
    if (auto ok = core_->learn(type); !ok) return tl::unexpected(ok.error());
    core::root_place place;
    auto done = core_->run([&](attempt& a) {
        const u16 number = a.type_number(type);
        const auto found = core_->find_root(a.running(), name);
        place = found ? *found : core_->add_root(a, name, number);
        if (place.type == number) return;
        const heap_type* const other = core_->types().find(place.type);
        transaction::fail(
            {errc::incompatible, "find the root " + std::string(name), "",
             "it is of type " + (other != nullptr ? other->name : "?") + ", not " + type.name,
             "use the type that it was made with, or another name"});
    });
    if (!done) return tl::unexpected(done.error());
    core_->tidy_up_if_needed();
    return std::pair{core_->file().base() + place.target, core_->open_mark()};
}

result<void> heap_base::learn(const type_info& type) {
    if (core_ == nullptr) return closed("learn a type");
    if (auto ok = check_outside("learn a type"); !ok) return ok;
    return core_->learn(type);
}

result<std::uint64_t> heap_base::upgrade(const type_info& from, const type_info& to,
                                         const converter& f) {
    if (core_ == nullptr) return closed("upgrade a type");
    if (auto ok = check_outside("upgrade a type"); !ok) return tl::unexpected(ok.error());
    return core_->upgrade(from, to, f);
}

result<std::uint64_t> heap_base::collect() {
    if (core_ == nullptr) return closed("collect");
    if (auto ok = check_outside("collect"); !ok) return tl::unexpected(ok.error());
    return core_->collect();
}

result<heap_report> heap_base::check() const {
    if (core_ == nullptr) return closed("check the heap");
    if (auto ok = check_outside("check the heap"); !ok) return tl::unexpected(ok.error());
    return core_->check();
}

result<void> heap_base::checkpoint() {
    if (core_ == nullptr) return closed("checkpoint");
    if (auto ok = check_outside("checkpoint"); !ok) return ok;
    epoch_manager& epochs = core_->lower().epochs();
    const u64 now = epochs.current_epoch();
    epochs.end_epoch(now);
    return epochs.wait_durable(now);
}

heap_statistics heap_base::numbers() const {
    heap_statistics s;
    if (core_ == nullptr) return s;
    const transaction_statistics n = core_->all().numbers();
    s.commits = n.commits;
    s.conflicts = n.conflicts;
    s.log_records = n.records;
    s.log_bytes = n.record_bytes;
    s.recovered_records = core_->lower().recovered().records;
    const engine_numbers engine = core_->lower().engine_numbers_now();
    s.slots = engine.slots;
    s.free_slots = engine.free_slots;
    s.kept_for_slots = engine.kept_for_slots;
    s.consolidated_pages = engine.consolidated_pages;
    s.consolidated_lines = engine.consolidated_lines;
    return s;
}

}  // namespace detail
}  // namespace hf::nv
