#include "survival.hpp"

namespace hf::tool {

std::string survival_of(medium_kind medium, bool flushes) {
    switch (medium) {
        case medium_kind::dax:
            if (!flushes) {
                return "a region here survives the death of its process, but, with write-backs "
                       "switched off, neither a crash of the kernel nor a power cut";
            }
            return "a region here survives the death of its process, a crash of the kernel and a "
                   "power cut, as far as the device behind the file system is really persistent "
                   "(memory that the kernel was told to treat so is not)";
        case medium_kind::eadr:
            return "a region here survives the death of its process, a crash of the kernel and a "
                   "power cut, provided that the machine really saves its caches when the power "
                   "fails (eADR): that was asked for, and cannot be verified";
        case medium_kind::shm:
            return "a region here survives the death of its process, however sudden, but not a "
                   "reboot, a crash of the kernel or a power cut: tmpfs is memory";
        case medium_kind::file:
            return "an epoch here survives the death of its process, a crash of the kernel and a "
                   "power cut once its journal record is synced, as far as the device keeps what "
                   "it says it has synced";
    }
    return "unknown";
}

}  // namespace hf::tool
