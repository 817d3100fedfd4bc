// tools/holdfast/text_file.hpp: the destination or source of a dump: a file, or a
// standard stream.
#pragma once

#include <holdfast/result.hpp>

#include "dump/dump_text.hpp"
#include "image/unfinished.hpp"
#include "region/file.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace hf::tool {

/// True if this names a standard stream.
[[nodiscard]] inline bool is_stream(const std::string& name) { return name.empty() || name == "-"; }

/// A file that gets its name when it is complete, or the standard output.
class text_output {
   public:
    /// `replace`: may replace an existing dump, but no other file, such as the region
    /// that is being dumped, or its journal.
    [[nodiscard]] static result<text_output> open(const std::string& name, bool replace);
    text_output(text_output&&) noexcept = default;
    text_output& operator=(text_output&&) = delete;
    text_output(const text_output&) = delete;
    text_output& operator=(const text_output&) = delete;
    /// Removes an incomplete file.
    ~text_output();

    [[nodiscard]] result<void> write(std::string_view text) const;
    /// Syncs and names the file.
    [[nodiscard]] result<void> finish();

   private:
    text_output(std::string name, bool replace) : name_(std::move(name)), replace_(replace) {}
    [[nodiscard]] std::string partial() const { return name_ + ".partial"; }

    std::string name_;  ///< empty: the standard output
    bool replace_;
    detail::file_handle file_;
    std::optional<detail::unfinished_name> unfinished_;
};

class text_input {
   public:
    [[nodiscard]] static result<text_input> open(const std::string& name);

    /// Reads on from the current position.
    [[nodiscard]] detail::dump_reader::source source();
    /// As source(), but also stores what it reads in an unnamed file in `directory`, so that
    /// rewind() can read it again. Not needed for a regular file.
    [[nodiscard]] result<detail::dump_reader::source> source_kept(const std::string& directory);
    /// Returns to the beginning, of a regular file or of the stored copy.
    [[nodiscard]] result<void> rewind();

    /// The name for errors.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Size of a regular file; 0: unknown.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

   private:
    text_input() = default;
    [[nodiscard]] int fd() const noexcept;

    std::string name_;
    detail::file_handle file_;
    detail::file_handle kept_;
    bool reads_kept_ = false;
    bool regular_ = false;
    std::uint64_t bytes_ = 0;
};

}  // namespace hf::tool
