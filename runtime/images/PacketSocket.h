// SPDX-License-Identifier: Apache-2.0
// Packets between two processes, with a descriptor or none.
#pragma once

#include <cstddef>

namespace ingot::runtime::images {

/// False when the other side is gone.
bool sendPacket(int socket, const void *packet, size_t size, int descriptor = -1);

/// How `receivePacket` ended.
enum class Arrival { Whole, Closed, WrongSize };

/// Waits for a packet of exactly `size` bytes. `descriptor`, where wanted, becomes the one that
/// came with it, or -1.
Arrival receivePacket(int socket, void *packet, size_t size, int *descriptor = nullptr);

} // namespace ingot::runtime::images
