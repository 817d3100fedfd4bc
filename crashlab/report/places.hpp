// report/places.hpp: where in the source something in a trace was done.
//
// Purpose. An event knows the address behind its instruction. One run of addr2line (LLVM's, or else
// binutils') over all addresses of a trace turns them into files and lines; without either, a place
// is its address in hexadecimal. Paths in the checkout are relative to it.
//
// What is shown. The innermost function that is not in src/persist/ or an installed library:
// whoever asked for the flush, not the instruction that does it.
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
    /// Looks up the places of all events, unless they are known.
    void resolve(const std::vector<event>& trace);
    void add(u64 pc, std::vector<frame> frames);

    /// "file:line", or the address; "" for 0.
    [[nodiscard]] std::string text(u64 pc) const;
    /// Innermost first; empty when nothing is known.
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
