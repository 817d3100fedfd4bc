#include "transaction/engine_lane.hpp"

#include "transaction/context.hpp"

namespace hf {

result<void> engine_lane::make_room(context& t, u64 bytes) {
    auto room = own_.make_room(bytes, t.epoch());
    if (room || room.error().code != errc::no_space) return room;
    // A commit that retries may have it already.
    if (!turn_.owns_lock()) turn_ = std::unique_lock(shared_.mutex);
    if (shared_.log.make_room(bytes, t.epoch())) return {};
    if (own_.has_records(t.epoch()) || shared_.log.has_records(t.epoch())) t.wait_for_boundary();
    return room;
}

}  // namespace hf
