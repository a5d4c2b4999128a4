// throws.cpp - a plugin for tests, in C++: every finding is too much for it.
#include <stdexcept>
#include "cuvet_plugin.h"

void cuvet_plugin_finding(const cuvet_mismatch *finding)
{
    throw std::runtime_error(finding->label);
}
