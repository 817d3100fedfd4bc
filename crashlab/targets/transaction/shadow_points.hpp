// targets/transaction/shadow_points.hpp: the persist points of the shadow engine, for targets that
// have to reach them (transaction/shadow_engine.cpp, transaction/shadow_recovery.hpp).
#pragma once

#include <string_view>

namespace hf::lab::shadow_points {

inline constexpr std::string_view point_s1 =
    "transaction S1: lines are durable before the record that turns to them";
inline constexpr std::string_view point_s2 =
    "transaction S2: a record is durable before its lines are given back";
inline constexpr std::string_view point_s3 =
    "transaction S3: homes are durable before their slots are given up";
inline constexpr std::string_view point_s4 = "transaction S4: a slot is given up before it is free";
inline constexpr std::string_view point_s5 =
    "transaction S5: homes are durable before the table is cleared";
inline constexpr std::string_view point_sr1 =
    "transaction SR1: what counts is durable before a line is brought home";
inline constexpr std::string_view point_sr2 =
    "transaction SR2: homes are durable before the table is cleared";
inline constexpr std::string_view point_sr3 =
    "transaction SR3: the table is clear before the session begins";

}  // namespace hf::lab::shadow_points
