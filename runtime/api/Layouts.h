// SPDX-License-Identifier: Apache-2.0
// The structures of ingot.h that begin with their size, and the sizes that released headers gave
// them. One that grows keeps its earlier sizes here, and its earlier header in
// tests/unit/interface.
#pragma once

#include "runtime/include/ingot/ingot.h"

namespace ingot::runtime {

/// `name`, and `sizes` of all layouts that this library knows, the newest one included.
template <class T> struct Layouts;

template <> struct Layouts<ingot_options> {
  static constexpr const char *name = "ingot_options";
  static constexpr size_t sizes[] = {sizeof(ingot_options)};
};
template <> struct Layouts<ingot_memory_plan> {
  static constexpr const char *name = "ingot_memory_plan";
  static constexpr size_t sizes[] = {sizeof(ingot_memory_plan)};
};
template <> struct Layouts<ingot_info> {
  static constexpr const char *name = "ingot_info";
  static constexpr size_t sizes[] = {sizeof(ingot_info)};
};
template <> struct Layouts<ingot_sampling> {
  static constexpr const char *name = "ingot_sampling";
  static constexpr size_t sizes[] = {sizeof(ingot_sampling)};
};
template <> struct Layouts<ingot_request> {
  static constexpr const char *name = "ingot_request";
  static constexpr size_t sizes[] = {offsetof(ingot_request, json_schema),
                                     offsetof(ingot_request, turn), sizeof(ingot_request)};
};
template <> struct Layouts<ingot_event> {
  static constexpr const char *name = "ingot_event";
  static constexpr size_t sizes[] = {sizeof(ingot_event)};
};
template <> struct Layouts<ingot_part> {
  static constexpr const char *name = "ingot_part";
  static constexpr size_t sizes[] = {sizeof(ingot_part)};
};
template <> struct Layouts<ingot_counters> {
  static constexpr const char *name = "ingot_counters";
  static constexpr size_t sizes[] = {sizeof(ingot_counters)};
};

template <> struct Layouts<ingot_loop_options> {
  static constexpr const char *name = "ingot_loop_options";
  static constexpr size_t sizes[] = {sizeof(ingot_loop_options)};
};
template <> struct Layouts<ingot_loop_statistics> {
  static constexpr const char *name = "ingot_loop_statistics";
  static constexpr size_t sizes[] = {sizeof(ingot_loop_statistics)};
};

} // namespace ingot::runtime
