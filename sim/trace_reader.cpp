#include "sim/trace.hpp"
#include "sim/trace_format.hpp"

#include <cerrno>
#include <cstring>
#include <string>

namespace hf::sim {

using namespace trace_format;

namespace {

class reader {
   public:
    reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

    [[nodiscard]] result<trace_header> header() {
        header_bytes bytes{};
        if (!read(bytes.data(), bytes.size())) {
            return failure(corrupt("it is shorter than a trace's header"));
        }
        if (get<magic_bytes>(bytes, 0) != magic) {
            return failure(corrupt("it does not begin as a trace does"));
        }
        const trace_header h{get<u32>(bytes, 8), get<u32>(bytes, 12), get<u64>(bytes, 16)};
        if (h.version != trace_version) {
            return failure({errc::incompatible, "read the trace", name_,
                            "it has version " + std::to_string(h.version) +
                                ", this program reads " + std::to_string(trace_version),
                            "record it again with this program"});
        }
        if (get<u64>(bytes, 24) != checksum64(bytes.data(), 24)) {
            return failure(corrupt("the checksum of its header is wrong"));
        }
        if (h.cores == 0 || h.cores > core_mask + 1 || h.pages > volatile_memory >> 12) {
            return failure(corrupt("its header names impossible cores or pages"));
        }
        cores_ = h.cores;
        return h;
    }

    [[nodiscard]] result<trace_summary> events(const trace_header& h, sink& to) {
        trace_summary s{h, 0, 0};
        for (;; ++s.blocks) {
            block_bytes head{};
            if (!read(head.data(), head.size())) return failure(corrupt("it is cut short"));
            const u32 bytes = get<u32>(head, 0);
            const u32 count = get<u32>(head, 4);
            const u64 checksum = get<u64>(head, 8);
            if (bytes == 0) return last(s, count, checksum);
            if (bytes > max_block_bytes) return failure(corrupt("a block is too long"));
            payload_.resize(bytes);
            if (!read(reinterpret_cast<char*>(payload_.data()), bytes)) {
                return failure(corrupt("it is cut short"));
            }
            if (checksum64(payload_.data(), bytes, s.blocks) != checksum) {
                return failure(corrupt("the checksum of a block is wrong"));
            }
            if (!pass(count, h, to)) return failure(corrupt("a block holds no events"));
            s.events += count;
        }
    }

   private:
    bool read(char* to, std::size_t bytes) {
        offset_ = next_;
        in_.read(to, static_cast<std::streamsize>(bytes));
        next_ += bytes;
        return static_cast<std::size_t>(in_.gcount()) == bytes;
    }
    [[nodiscard]] error corrupt(const std::string& why) const {
        return {errc::corrupt, "read the trace", name_ + " at offset " + std::to_string(offset_),
                why, "record it again"};
    }
    [[nodiscard]] result<trace_summary> last(const trace_summary& s, u32 count, u64 checksum) {
        if (count != 0 || checksum != (checksum64(nullptr, 0, s.blocks) ^ s.events)) {
            return failure(corrupt("its last block does not count its events"));
        }
        if (in_.peek() != std::istream::traits_type::eof()) {
            return failure(corrupt("something follows its last block"));
        }
        return s;
    }

    [[nodiscard]] bool varint(u64& value) {
        value = 0;
        for (unsigned shift = 0; shift < 64 && at_ < payload_.size(); shift += 7) {
            const auto byte = static_cast<u64>(payload_[at_++]);
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }
    /// Addresses are persistent within the header's pages, or volatile.
    [[nodiscard]] bool address(unsigned core, u64 bytes, const trace_header& h, u64& found) {
        u64 coded = 0;
        if (!varint(coded)) return false;
        found = last_[core] += unzigzag(coded);
        const u64 end = is_persistent(found) ? h.pages << 12 : 2 * volatile_memory;
        return found < end && bytes <= end - found;
    }
    /// Decodes the block, then passes its events on, with hints of those that follow.
    bool pass(u32 count, const trace_header& h, sink& to) {
        at_ = 0;
        events_.clear();
        for (u32 i = 0; i < count; ++i) {
            if (at_ >= payload_.size() || !event(h)) return false;
        }
        if (at_ != payload_.size()) return false;
        for (std::size_t i = 0; i < events_.size(); ++i) {
            if (i + sink::ahead < events_.size()) expect(events_[i + sink::ahead], to);
            pass_one(events_[i], to);
        }
        return true;
    }
    struct event_in_trace {
        u64 address;
        u32 bytes;
        u8 kind;
        u8 core;
    };
    static void expect(const event_in_trace& e, sink& to) {
        if (e.kind == load_kind || e.kind == store_kind) to.expect(e.core, e.address);
    }
    static void pass_one(const event_in_trace& e, sink& to) {
        if (e.kind == load_kind) to.load(e.core, e.address, e.bytes);
        if (e.kind == store_kind) to.store(e.core, e.address, e.bytes);
        if (e.kind == begin_kind) to.begin(e.core);
        if (e.kind == commit_kind) to.commit(e.core);
        if (e.kind == abort_kind) to.abort(e.core);
        if (e.kind == shootdown_kind) to.shootdown(e.address);
    }
    void decoded(unsigned kind, unsigned core, u64 address = 0, u64 bytes = 0) {
        events_.push_back(
            {address, static_cast<u32>(bytes), static_cast<u8>(kind), static_cast<u8>(core)});
    }
    [[nodiscard]] bool event(const trace_header& h) {
        const auto head = static_cast<unsigned>(payload_[at_++]);
        const unsigned core = head >> core_shift & core_mask;
        const unsigned kind = head & kind_mask;
        if (core >= cores_) return false;
        if (kind == load_kind || kind == store_kind) return access(head, core, h);
        if ((head >> size_shift) != 0) return false;
        if (kind == shootdown_kind) {
            u64 at = 0;
            if (!address(core, 1, h, at)) return false;
            decoded(kind, core, at);
            return true;
        }
        // Only a core's own transactions end, and one at a time.
        if (kind > abort_kind || (kind == begin_kind) == runs_[core]) return false;
        runs_[core] = kind == begin_kind;
        decoded(kind, core);
        return true;
    }
    [[nodiscard]] bool access(unsigned head, unsigned core, const trace_header& h) {
        u64 bytes = u64{1} << (head >> size_shift & 3);
        if ((head & odd_size) != 0 && !varint(bytes)) return false;
        if (bytes == 0 || bytes > max_access_bytes) return false;
        u64 at = 0;
        if (!address(core, bytes, h, at)) return false;
        decoded(head & kind_mask, core, at, bytes);
        return true;
    }

    std::istream& in_;
    const std::string& name_;
    u64 offset_ = 0;  ///< of the latest read
    u64 next_ = 0;
    u32 cores_ = 1;
    std::vector<std::byte> payload_;
    std::size_t at_ = 0;
    std::vector<event_in_trace> events_;  ///< of the block
    std::array<u64, 4> last_{};
    std::array<bool, 4> runs_{};
};

result<std::ifstream> open(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        return failure({errno == ENOENT ? errc::not_found : errc::io, "read the trace",
                        file.string(), std::strerror(errno), "name a trace that is there"});
    }
    return in;
}

}  // namespace

result<trace_header> read_trace_header(const std::filesystem::path& file) {
    auto in = open(file);
    if (!in) return tl::unexpected(in.error());
    const std::string name = file.string();
    return reader(*in, name).header();
}

result<trace_summary> replay_trace(std::istream& in, const std::string& name, sink& to) {
    reader r(in, name);
    auto h = r.header();
    if (!h) return tl::unexpected(h.error());
    return r.events(*h, to);
}

result<trace_summary> replay_trace(const std::filesystem::path& file, sink& to) {
    auto in = open(file);
    if (!in) return tl::unexpected(in.error());
    return replay_trace(*in, file.string(), to);
}

}  // namespace hf::sim
