// masstree/adapters.hpp: the tree with the adapters of all its disciplines.
#pragma once

#include "index/masstree/incll/adapter.hpp"
#include "index/masstree/logged/adapter.hpp"
#include "index/masstree/masstree.hpp"
#include "index/masstree/transient/adapter.hpp"
