// report/places.hpp: source locations of the events in a trace.
//
// Purpose. An event has the address after its instruction. One run of addr2line (LLVM's, or else
// binutils') converts all addresses of a trace to files and lines; without either, a place
// is its address in hexadecimal. Paths in the checkout are relative to it.
//
// The location shown is the innermost function that is not in src/persist/ or an installed library:
// the code that requested the flush, not the instruction that does it.
#pragma once

#include "crashlab/trace/event.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hf::lab {

/// One function of an inlined call chain.
struct frame {
    std::string function;
    std::string file;
    u32 line = 0;
};

class source_places {
   public:
    /// Looks up the places of all events that are not known yet.
    void resolve(const std::vector<event>& trace);
    void add(u64 pc, std::vector<frame> frames);

    /// "file:line", or the address; "" for 0.
    [[nodiscard]] std::string text(u64 pc) const;
    /// Innermost first; empty if unknown.
    [[nodiscard]] std::span<const frame> frames(u64 pc) const;

   private:
    struct place {
        std::vector<frame> frames;
        std::string text;
    };
    std::map<u64, place> places_;
};

/// The last part of a function's name, without namespaces and arguments.
[[nodiscard]] std::string_view short_name(std::string_view function) noexcept;

}  // namespace hf::lab
