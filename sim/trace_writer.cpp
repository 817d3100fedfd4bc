#include "base/checksum.hpp"
#include "sim/trace.hpp"
#include "sim/trace_format.hpp"

#include <cerrno>
#include <cstring>

namespace hf::sim {

using namespace trace_format;

namespace {

error cannot_write(const std::string& name, const std::string& why) {
    return {errc::io, "write the trace", name, why, "look at the space and the rights there"};
}

}  // namespace

result<std::unique_ptr<trace_writer>> trace_writer::create(const std::filesystem::path& file,
                                                           u32 cores, u64 pages) {
    auto out = std::make_unique<std::ofstream>(file, std::ios::binary | std::ios::trunc);
    if (!*out) return failure(cannot_write(file.string(), std::strerror(errno)));
    auto writer = std::make_unique<trace_writer>(*out, file.string(), cores, pages);
    writer->file_ = std::move(out);
    return writer;
}

trace_writer::trace_writer(std::ostream& out, std::string name, u32 cores, u64 pages)
    : out_(&out), name_(std::move(name)) {
    header_bytes header = encode({trace_version, cores, pages});
    out_->write(header.data(), static_cast<std::streamsize>(header.size()));
    payload_.reserve(max_block_bytes);
}

void trace_writer::put_head(unsigned kind, unsigned core, unsigned more) {
    payload_.push_back(static_cast<std::byte>(kind | core << core_shift | more));
}
void trace_writer::put_varint(u64 value) {
    for (; value >= 0x80; value >>= 7) payload_.push_back(static_cast<std::byte>(value | 0x80));
    payload_.push_back(static_cast<std::byte>(value));
}
void trace_writer::put_address(unsigned core, u64 address) {
    put_varint(zigzag(address - last_[core]));
    last_[core] = address;
}

void trace_writer::access(unsigned kind, unsigned core, u64 address, unsigned bytes) {
    const bool is_word = std::has_single_bit(bytes) && bytes <= 8;
    put_head(kind, core,
             is_word ? static_cast<unsigned>(std::countr_zero(bytes)) << size_shift : odd_size);
    if (!is_word) put_varint(bytes);
    put_address(core, address);
    end_event();
}
bool trace_writer::load(unsigned core, u64 address, unsigned bytes) {
    access(load_kind, core, address, bytes);
    return true;
}
bool trace_writer::store(unsigned core, u64 address, unsigned bytes) {
    access(store_kind, core, address, bytes);
    return true;
}
void trace_writer::begin(unsigned core) {
    put_head(begin_kind, core, 0);
    end_event();
}
void trace_writer::commit(unsigned core) {
    put_head(commit_kind, core, 0);
    end_event();
}
void trace_writer::abort(unsigned core) {
    put_head(abort_kind, core, 0);
    end_event();
}
void trace_writer::shootdown(u64 address) {
    put_head(shootdown_kind, 0, 0);
    put_address(0, address);
    end_event();
}

void trace_writer::end_event() {
    ++events_;
    ++all_events_;
    if (payload_.size() + max_event_bytes > max_block_bytes) write_block();
}

void trace_writer::write_block() {
    const block_bytes head = encode_block(static_cast<u32>(payload_.size()), events_,
                                          checksum64(payload_.data(), payload_.size(), block_));
    out_->write(head.data(), static_cast<std::streamsize>(head.size()));
    out_->write(reinterpret_cast<const char*>(payload_.data()),
                static_cast<std::streamsize>(payload_.size()));
    payload_.clear();
    events_ = 0;
    ++block_;
}

result<void> trace_writer::finish() {
    if (events_ != 0) write_block();
    const block_bytes last = encode_block(0, 0, checksum64(nullptr, 0, block_) ^ all_events_);
    out_->write(last.data(), static_cast<std::streamsize>(last.size()));
    out_->flush();
    if (!*out_) return failure(cannot_write(name_, "not all of it could be written"));
    return {};
}

}  // namespace hf::sim
