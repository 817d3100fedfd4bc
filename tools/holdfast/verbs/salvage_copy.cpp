#include "verbs/salvage_copy.hpp"

#include "image/unfinished.hpp"
#include "map/copy.hpp"
#include "region/file.hpp"
#include "text_file.hpp"

#include <ctime>
#include <filesystem>

namespace hf::tool {

namespace {

/// Removed with the object, or when a signal ends the process.
class intermediate_file {
   public:
    explicit intermediate_file(std::string path) : path_(std::move(path)), unfinished_(path_) {}
    intermediate_file(const intermediate_file&) = delete;
    intermediate_file& operator=(const intermediate_file&) = delete;
    ~intermediate_file() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

   private:
    std::string path_;
    detail::unfinished_name unfinished_;
};

result<void> check_new(const std::string& path) {
    if (!detail::is_taken(path)) return {};
    return failure({errc::usage, "copy the sound records", path,
                    "there is a file of this name already",
                    "move it away: the copy needs the name"});
}

}  // namespace

result<salvage_report> copy_sound_records(const std::string& from, const std::string& to,
                                          bool replace, const detail::copy_progress& progress) {
    const std::string image_path = to + ".image";
    const std::string text_path = to + ".dump";
    for (const std::string& path : {image_path, text_path}) {
        if (auto ok = check_new(path); !ok) return tl::unexpected(ok.error());
    }
    const intermediate_file image(image_path);
    const intermediate_file text(text_path);
    if (auto copied = copy_unverified(from, image.path(), progress); !copied) {
        return tl::unexpected(copied.error());
    }
    auto out = text_output::open(text.path(), false);
    if (!out) return tl::unexpected(out.error());
    auto report = salvage_store(image.path(), static_cast<std::uint64_t>(std::time(nullptr)),
                                [&out](std::string_view line) { return out->write(line); });
    if (!report) return report;
    if (auto ok = out->finish(); !ok) return tl::unexpected(ok.error());
    auto in = text_input::open(text.path());
    if (!in) return tl::unexpected(in.error());
    detail::dump_reader reader(in->source(), in->name());
    load_options how;
    how.replace = replace;
    how.kind = discipline::incll;
    if (auto loaded = load_new(to, reader, how); !loaded) return tl::unexpected(loaded.error());
    return report;
}

}  // namespace hf::tool
