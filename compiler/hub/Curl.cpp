// SPDX-License-Identifier: Apache-2.0
// Functions of libcurl by their names.
#include "compiler/hub/Curl.h"

#include <dlfcn.h>

using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;

namespace ingot::hub {

static Error absent(const char *what) {
  return Error{
      "INGOT-E7302", "downloads need libcurl 7.66 or later", what ? what : "",
      "install the package libcurl4 (Debian, Ubuntu), libcurl (RHEL, Alpine), or fetch the "
      "model by other means and name its folder"};
}

Expected<Curl> Curl::open() {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return absent(dlerror());
  Curl curl;
  const char *missing = nullptr;
  auto find = [&](const char *name, auto &function) {
    void *found = dlsym(library, name);
    if (!found)
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
  };
  find("curl_global_init", curl.globalInit);
  find("curl_easy_init", curl.easyInit);
  find("curl_easy_cleanup", curl.easyCleanup);
  find("curl_easy_setopt", curl.setOption);
  find("curl_easy_getinfo", curl.getInfo);
  find("curl_easy_strerror", curl.textOf);
  find("curl_slist_append", curl.append);
  find("curl_slist_free_all", curl.freeList);
  find("curl_multi_init", curl.multiInit);
  find("curl_multi_cleanup", curl.multiCleanup);
  find("curl_multi_add_handle", curl.multiAdd);
  find("curl_multi_remove_handle", curl.multiRemove);
  find("curl_multi_perform", curl.multiPerform);
  find("curl_multi_poll", curl.multiPoll);
  find("curl_multi_info_read", curl.multiRead);
  if (missing)
    return absent(missing);
  if (curl.globalInit(kGlobalAll) != kOk)
    return absent("it does not start");
  return curl;
}

} // namespace ingot::hub
