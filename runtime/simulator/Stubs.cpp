// SPDX-License-Identifier: Apache-2.0
// Families of instructions that are not written yet.
#include "runtime/simulator/Decoder.h"
namespace ingot::simulator {
void addMatrixInstructions(InstructionTable &) {}
void addTensorInstructions(InstructionTable &) {}
void addAsyncInstructions(InstructionTable &) {}
void addMessageBarrierInstructions(InstructionTable &) {}
void addBulkInstructions(InstructionTable &) {}
void addWarpGroupInstructions(InstructionTable &) {}
} // namespace ingot::simulator
