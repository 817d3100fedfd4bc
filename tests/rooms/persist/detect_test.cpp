// The medium is found from the file.
#include "persist/detect.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hf {
namespace {

TEST(detect, a_file_in_memory_lies_on_tmpfs) {
    const int fd = ::memfd_create("detect", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    const auto found = detect_medium(fd, "a memory file");
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(*found, medium_kind::shm);
    EXPECT_EQ(file_system_name(fd), "tmpfs");
    ::close(fd);
}

TEST(detect, another_file_system_is_refused_in_one_sentence_that_names_it) {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const auto found = detect_medium(fd, "some/file.hf");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, errc::medium);
    EXPECT_EQ(found.error().where, "some/file.hf");
    EXPECT_NE(found.error().why.find("of type 0x9fa0"), std::string::npos) << found.error().why;
    EXPECT_NE(found.error().next.find("/dev/shm"), std::string::npos);
    EXPECT_EQ(found.error().to_string().find('\n'), std::string::npos);
    ::close(fd);
}

TEST(detect, a_closed_descriptor_is_an_error_and_no_medium) {
    const auto found = detect_medium(-1, "gone.hf");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, errc::io);
}

}  // namespace
}  // namespace hf
