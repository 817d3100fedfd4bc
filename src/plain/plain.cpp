// plain.cpp: the public plain_memory (include/holdfast/plain.hpp) over a plain::machine.
#include <holdfast/plain.hpp>

#include "plain/machine.hpp"

#include <utility>

namespace hf {

struct plain_memory::impl {
    std::unique_ptr<plain::machine> machine;  ///< nullptr: it was closed
};

namespace {

tl::unexpected<error> closed(const char* what) {
    return failure({errc::usage, what, "plain memory", "it was closed", "open it anew"});
}

}  // namespace

plain_memory::plain_memory(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
plain_memory::plain_memory(plain_memory&&) noexcept = default;

plain_memory& plain_memory::operator=(plain_memory&& other) noexcept {
    if (this != &other) {
        if (impl_) (void)close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

plain_memory::~plain_memory() {
    if (impl_) (void)close();
}

result<plain_memory> plain_memory::open(const std::filesystem::path& path,
                                        const plain_options& options) {
    plain::machine_options all;
    all.file = options.region;
    all.bytes = options.bytes;
    auto machine = plain::machine::open(path, all);
    if (!machine) return tl::unexpected(machine.error());
    auto p = std::make_unique<impl>();
    p->machine = std::move(*machine);
    return plain_memory(std::move(p));
}

result<void> plain_memory::close() {
    if (!impl_->machine) return {};
    if (impl_->machine->is_inherited()) {
        return leave_to_parent(impl_->machine, "close the plain memory");
    }
    auto done = impl_->machine->close();
    impl_->machine.reset();
    return done;
}

std::span<std::byte> plain_memory::memory() const noexcept {
    return impl_->machine ? impl_->machine->memory() : std::span<std::byte>{};
}

result<ticket> plain_memory::commit_later() {
    if (!impl_->machine) return closed("commit a transaction");
    return impl_->machine->commit();
}

result<void> plain_memory::commit() {
    const auto done = commit_later();
    return done ? wait_durable(*done) : tl::unexpected(done.error());
}

result<void> plain_memory::wait_durable(ticket t) {
    if (!impl_->machine) return closed("wait for a commit");
    return impl_->machine->wait_durable(t);
}

result<void> plain_memory::abort() {
    if (!impl_->machine) return closed("abort a transaction");
    return impl_->machine->abort();
}

plain_statistics plain_memory::stats() const {
    plain_statistics s;
    if (!impl_->machine) return s;
    const plain::machine& m = *impl_->machine;
    const engine_numbers slots = m.below().engine_numbers_now();
    s.bytes = m.memory().size();
    s.created = m.file().created();
    s.recovered = !m.file().was_clean();
    s.tracking = to_string(m.image().how());
    s.commits = m.commits();
    s.aborts = m.aborts();
    s.pages_compared = m.image().pages_compared();
    s.lines_committed = m.lines_committed();
    s.slots = slots.slots;
    s.free_slots = slots.free_slots;
    return s;
}

}  // namespace hf
