// sim/sink.hpp: where memory accesses go: a simulated machine, several of them, or a trace file.
//
// Addresses are bytes of a virtual address space. Those below volatile_memory are persistent: the
// offset in a heap. A store inside of a transaction is transactional if its address is persistent;
// all others are regular. Accesses may cross lines and pages.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::sim {

inline constexpr u64 volatile_memory = u64{1} << 46;
[[nodiscard]] constexpr bool is_persistent(u64 address) noexcept {
    return address < volatile_memory;
}

class sink {
   public:
    sink() = default;
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    /// False: another core's running transaction has updated the line. The access did not happen;
    /// the caller aborts one of the two transactions.
    virtual bool load(unsigned core, u64 address, unsigned bytes) = 0;
    virtual bool store(unsigned core, u64 address, unsigned bytes) = 0;
    virtual void begin(unsigned core) = 0;
    virtual void commit(unsigned core) = 0;
    virtual void abort(unsigned core) = 0;
    /// How many events before the access a caller that knows of it says so by expect().
    static constexpr std::size_t ahead = 12;
    /// A hint, which changes no count: an access to it follows soon.
    virtual void expect(unsigned /*core*/, u64 /*address*/) {}
    /// The operating system removes a page from all TLBs.
    virtual void shootdown(u64 /*address*/) {}
};

/// Passes every access to each of several sinks. For one core: conflicts are ignored.
class fan_out final : public sink {
   public:
    explicit fan_out(std::vector<sink*> to) : to_(std::move(to)) {}
    bool load(unsigned core, u64 address, unsigned bytes) override {
        for (sink* s : to_) s->load(core, address, bytes);
        return true;
    }
    bool store(unsigned core, u64 address, unsigned bytes) override {
        for (sink* s : to_) s->store(core, address, bytes);
        return true;
    }
    void begin(unsigned core) override {
        for (sink* s : to_) s->begin(core);
    }
    void commit(unsigned core) override {
        for (sink* s : to_) s->commit(core);
    }
    void abort(unsigned core) override {
        for (sink* s : to_) s->abort(core);
    }
    void expect(unsigned core, u64 address) override {
        for (sink* s : to_) s->expect(core, address);
    }
    void shootdown(u64 address) override {
        for (sink* s : to_) s->shootdown(address);
    }

   private:
    std::vector<sink*> to_;
};

}  // namespace hf::sim
