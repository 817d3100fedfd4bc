// tests/support/test_headers.hpp: what nearly every test includes, compiled once a tree
// (precompiled; builds that do not ask for that never read this file).
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
