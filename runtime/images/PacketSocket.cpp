// SPDX-License-Identifier: Apache-2.0
// sendmsg and recvmsg.
#include "runtime/images/PacketSocket.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace ingot::runtime::images {

bool sendPacket(int socket, const void *packet, size_t size, int descriptor) {
  iovec bytes{const_cast<void *>(packet), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent;
  do
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == ssize_t(size);
}

Arrival receivePacket(int socket, void *packet, size_t size, int *descriptor) {
  iovec bytes{packet, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (descriptor) {
    *descriptor = -1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  ssize_t received;
  do
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  if (received <= 0)
    return Arrival::Closed;
  if (descriptor)
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        std::memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  const bool whole = received == ssize_t(size) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
  return whole ? Arrival::Whole : Arrival::WrongSize;
}

} // namespace ingot::runtime::images
