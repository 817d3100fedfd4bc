// tools/holdfast/text_file.hpp: where a dump goes to, and where it comes from: a file, or a
// standard stream.
#pragma once

#include <holdfast/result.hpp>

#include "dump/dump_text.hpp"
#include "region/file.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace hf::tool {

/// Whether this names a standard stream.
[[nodiscard]] inline bool is_stream(const std::string& name) { return name.empty() || name == "-"; }

/// A file that gets its name when it is complete, or the standard output.
class text_output {
   public:
    /// `replace`: also over a dump that is there, but over no other file: least of all the region
    /// that is being dumped, or its journal.
    [[nodiscard]] static result<text_output> open(const std::string& name, bool replace);
    text_output(text_output&&) noexcept = default;
    text_output& operator=(text_output&&) = delete;
    text_output(const text_output&) = delete;
    text_output& operator=(const text_output&) = delete;
    /// Removes what is incomplete.
    ~text_output();

    [[nodiscard]] result<void> write(std::string_view text) const;
    /// Synced and named.
    [[nodiscard]] result<void> finish();

   private:
    text_output(std::string name, bool replace) : name_(std::move(name)), replace_(replace) {}
    [[nodiscard]] std::string partial() const { return name_ + ".partial"; }

    std::string name_;  ///< empty: the standard output
    bool replace_;
    detail::file_handle file_;
};

class text_input {
   public:
    [[nodiscard]] static result<text_input> open(const std::string& name);

    /// Reads on from where the input is.
    [[nodiscard]] detail::dump_reader::source source();
    /// As source(), and keeps what it reads in an unnamed file in `directory`, from which
    /// rewind() lets it be read again. For a regular file that is not needed.
    [[nodiscard]] result<detail::dump_reader::source> source_kept(const std::string& directory);
    /// To the beginning, of a regular file or of what was kept.
    [[nodiscard]] result<void> rewind();

    /// What errors call it.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Of a regular file; 0: not known.
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
