#include "persist/persist_point.hpp"

#include <atomic>

namespace hf {
namespace {

constinit std::atomic<persist_point_hook> current_hook{nullptr};

}  // namespace

persist_point_hook set_persist_point_hook(persist_point_hook hook) noexcept {
    return current_hook.exchange(hook, std::memory_order_acq_rel);
}

void detail::persist_point_reached(const char* name) {
    if (const persist_point_hook hook = current_hook.load(std::memory_order_acquire)) hook(name);
}

}  // namespace hf
