// SPDX-License-Identifier: Apache-2.0
// libcurl, opened at run time: what of its C interface is used. Its ABI has been the same since
// 2006, and its numbers never change; they are those of curl's own curl.h and multi.h.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <memory>

namespace ingot::hub {

struct Curl {
  // Options by the kind of their value: long 0, pointer 10000, function 20000, curl_off_t 30000.
  enum Option : int {
    kLowSpeedLimit = 19, ///< bytes a second
    kLowSpeedTime = 20,  ///< seconds
    kFollowLocation = 52,
    kConnectTimeout = 78, ///< seconds
    kHttpVersion = 84,    ///< kHttp11
    kNoSignal = 99,
    kSuppressConnectHeaders = 265,
    kWriteData = 10001,
    kUrl = 10002,
    kProxy = 10004,
    kRange = 10007,
    kErrorBuffer = 10010,
    kUserAgent = 10018,
    kHttpHeader = 10023,
    kHeaderData = 10029,
    kCaInfo = 10065,
    kPrivate = 10103,
    kNoProxy = 10177,
    kWriteFunction = 20011,
    kHeaderFunction = 20079,
  };
  static constexpr long kHttp11 = 2;
  static constexpr size_t kErrorBytes = 256;
  static constexpr long kGlobalAll = 3;
  static constexpr int kInfoPrivate = 0x100000 + 21; ///< a pointer

  /// Results of a transfer that are told apart.
  enum Result : int {
    kOk = 0,
    kNoProxyHost = 5,
    kNoHost = 6,
    kNoConnection = 7,
    kCut = 18,
    kTimedOut = 28,
    kTlsFailed = 35,
    kNothing = 52,
    kNotSent = 55,
    kNotReceived = 56,
    kNotVerified = 60,
    kBadCertificates = 77,
  };

  struct Message {
    int kind; ///< 1: a transfer is done
    void *easy;
    union {
      void *pointer;
      int result;
    };
  };

  int (*globalInit)(long flags) = nullptr;
  void *(*easyInit)() = nullptr;
  void (*easyCleanup)(void *easy) = nullptr;
  int (*setOption)(void *easy, int option, ...) = nullptr;
  int (*getInfo)(void *easy, int info, ...) = nullptr;
  const char *(*textOf)(int result) = nullptr;
  void *(*append)(void *list, const char *text) = nullptr;
  void (*freeList)(void *list) = nullptr;
  void *(*multiInit)() = nullptr;
  int (*multiCleanup)(void *multi) = nullptr;
  int (*multiAdd)(void *multi, void *easy) = nullptr;
  int (*multiRemove)(void *multi, void *easy) = nullptr;
  int (*multiPerform)(void *multi, int *running) = nullptr;
  int (*multiPoll)(void *multi, void *extra, unsigned count, int milliseconds,
                   int *events) = nullptr;
  Message *(*multiRead)(void *multi, int *left) = nullptr;

  /// Opens and starts it; it stays open. Error: INGOT-E7302 where it is not installed or lacks a
  /// function, which names the package.
  static checkpoint::Expected<Curl> open();
};

} // namespace ingot::hub
