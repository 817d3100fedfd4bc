#include "disk_image.hpp"

#include "process.hpp"

#include <fstream>
#include <system_error>

namespace hf::machine {

namespace fs = std::filesystem;

result<void> make_disk(const fs::path& image, std::uint64_t bytes, const std::string& file_system) {
    std::ofstream(image, std::ios::trunc).close();
    std::error_code wrong;
    fs::resize_file(image, bytes, wrong);
    if (wrong) {
        return failure(
            {errc::no_space, "make a disk", image.string(), wrong.message(), "make room there"});
    }
    const fs::path log = image.string() + ".log";
    const auto made = file_system == "xfs"
                          ? run({"mkfs.xfs", "-q", "-f", image.string()}, log)
                          // Initialises everything now, so that the guest's kernel does not do it
                          // later in the background.
                          : run({"mkfs.ext4", "-q", "-F", "-E",
                                 "lazy_itable_init=0,lazy_journal_init=0", image.string()},
                                log);
    fs::remove(log, wrong);
    if (!made) return tl::unexpected(made.error());
    return {};
}

result<void> copy_disk(const fs::path& from, const fs::path& to) {
    const fs::path log = to.string() + ".log";
    const auto copied =
        run({"cp", "--sparse=always", "--reflink=auto", from.string(), to.string()}, log);
    std::error_code ignored;
    fs::remove(log, ignored);
    if (!copied) return tl::unexpected(copied.error());
    return {};
}

}  // namespace hf::machine
