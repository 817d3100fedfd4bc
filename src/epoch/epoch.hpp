// epoch/epoch.hpp: epochs, for any discipline.
//
// Execution is divided into epochs. Read gate.hpp (how operations are kept out while an epoch
// ends), then boundary.hpp with its two implementations (write_back.hpp for a shared image,
// capture.hpp for a journalled one), then epoch_manager.hpp, which has the whole life of a session.
#pragma once

#include "epoch/boundary.hpp"
#include "epoch/epoch_manager.hpp"
#include "epoch/gate.hpp"
#include "epoch/group_commit.hpp"
#include "epoch/lane.hpp"
