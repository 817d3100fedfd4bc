// tests/support/test_headers.hpp: headers that most tests include, precompiled once (unused in
// builds without precompiled headers).
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "epoch/epoch_manager.hpp"
#include "region/region.hpp"

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
