// Feeds the reader of the simulator's traces with bytes that another program wrote.
//
// The first byte of the input chooses: the rest as a file; or the rest as edits of a good trace,
// after which the block's checksum may be made right again, so that the events are reached. The
// reader must end, with an error or with events that a machine of the header's size accepts.
#include "sim/shadow_machine.hpp"
#include "sim/synthetic.hpp"
#include "sim/trace.hpp"
#include "sim/trace_format.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

using hf::u32;
using hf::u64;
namespace format = hf::sim::trace_format;

constexpr u64 pages = 64;
constexpr std::size_t block_at = 32;
constexpr std::size_t payload_at = block_at + 16;

const std::string& good_trace() {
    static const std::string bytes = [] {
        std::ostringstream out;
        hf::sim::trace_writer writer(out, "memory", 2, pages);
        hf::sim::synthetic_options o;
        o.pages = pages;
        o.aborts_in_1000 = 200;
        hf::sim::run_synthetic(o, 10, 0, writer);
        hf::sim::run_synthetic(o, 10, 1, writer);
        if (!writer.finish()) std::abort();
        return out.str();
    }();
    return bytes;
}

/// Two bytes an edit: a distance from the last place, and a value.
std::string edited(const std::uint8_t* data, std::size_t size, bool mends_checksum) {
    std::string bytes = good_trace();
    std::size_t at = mends_checksum ? payload_at : 0;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
        at = (at + data[i]) % bytes.size();
        bytes[at] = static_cast<char>(data[i + 1]);
    }
    u32 length = 0;
    std::memcpy(&length, bytes.data() + block_at, sizeof length);
    if (mends_checksum && length <= bytes.size() - payload_at) {
        const u64 checksum = hf::checksum64(bytes.data() + payload_at, length, 0);
        std::memcpy(bytes.data() + block_at + 8, &checksum, sizeof checksum);
    }
    return bytes;
}

/// Refuses what no machine of this size could do.
class checking_sink final : public hf::sim::sink {
   public:
    bool load(unsigned core, u64 address, unsigned bytes) override {
        return access(core, address, bytes);
    }
    bool store(unsigned core, u64 address, unsigned bytes) override {
        return access(core, address, bytes);
    }
    void begin(unsigned core) override { switch_to(core, true); }
    void commit(unsigned core) override { switch_to(core, false); }
    void abort(unsigned core) override { switch_to(core, false); }
    void shootdown(u64 address) override { access(0, address, 1); }

   private:
    static bool access(unsigned core, u64 address, unsigned bytes) {
        if (core >= hf::sim::max_cores || bytes == 0) std::abort();
        if (hf::sim::is_persistent(address) && address + bytes > hf::sim::volatile_memory) {
            std::abort();
        }
        return true;
    }
    void switch_to(unsigned core, bool runs) {
        if (core >= hf::sim::max_cores || runs_[core] == runs) std::abort();
        runs_[core] = runs;
    }
    bool runs_[hf::sim::max_cores]{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string bytes = data[0] % 3 == 0
                                  ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                                  : edited(data + 1, size - 1, data[0] % 3 == 1);
    std::istringstream in(bytes);
    checking_sink sink;
    const auto done = hf::sim::replay_trace(in, "fuzzed", sink);
    if (!done && done.error().why.empty()) std::abort();
    return 0;
}
